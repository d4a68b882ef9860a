"""The tables. Times are integer seconds; a column named `*hash` is a SHA-256 in hex.

`tokens` keeps no token: its key is the digest of the token's bytes and `claims` is the payload
without signature. A token's validity is not a column: `broker.store.tokens.find_active` derives it
from the grant, the user and the client each time.
"""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Integer, LargeBinary, MetaData, Table, Text

SCHEMA_VERSION = 1

metadata = MetaData()

users = Table(
    "users",
    metadata,
    Column("name", Text, primary_key=True),
    Column("password_hash", Text, nullable=False),
    Column("enabled", Integer, nullable=False, server_default="1"),
    Column("created_at", Integer, nullable=False),
)

clients = Table(
    "clients",
    metadata,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("audience", Text),
    Column("jwk", Text, nullable=False),
    Column("redirect_uris", Text, nullable=False),
    Column("enabled", Integer, nullable=False, server_default="1"),
    Column("created_at", Integer, nullable=False),
)

grants = Table(
    "grants",
    metadata,
    Column("id", Text, primary_key=True),
    Column("user", Text, ForeignKey("users.name"), nullable=False, index=True),
    Column("agent", Text, nullable=False),
    Column("client", Text, ForeignKey("clients.id"), nullable=False),
    Column("scopes", Text, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("created_at", Integer, nullable=False),
    Column("expires_at", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("handle_hash", Text, unique=True),
    Column("upstream_sealed", LargeBinary, nullable=False),
    Column("upstream_key", Text, nullable=False),
)

codes = Table(
    "codes",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("grant_id", Text, ForeignKey("grants.id"), nullable=False),
    Column("client", Text, nullable=False),
    Column("redirect_uri", Text, nullable=False),
    Column("challenge", Text, nullable=False),
    Column("expires_at", Integer, nullable=False),
    Column("used_at", Integer),
)

tokens = Table(
    "tokens",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("jti", Text, nullable=False, unique=True),
    Column("grant_id", Text, ForeignKey("grants.id"), nullable=False, index=True),
    Column("epoch", Integer, nullable=False),
    Column("aud", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("decision_id", Text, nullable=False, unique=True),
    Column("iat", Integer, nullable=False),
    Column("exp", Integer, nullable=False),
    Column("revoked_at", Integer),
    Column("claims", Text, nullable=False),
)

replay = Table(
    "replay",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("exp", Integer, nullable=False),
    Index("replay_exp", "exp"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("user", Text, ForeignKey("users.name"), nullable=False),
    Column("expires_at", Integer, nullable=False),
)

consents = Table(
    "consents",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("session_hash", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("expires_at", Integer, nullable=False),
)
