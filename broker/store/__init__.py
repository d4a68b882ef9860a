"""What the broker remembers: one SQLite database, one module per kind of row.

Secrets are stored as SHA-256 digests (256-bit random values) or scrypt (passwords); the upstream
refresh token is sealed. A copy of the database holds nothing that can be presented anywhere.
"""
