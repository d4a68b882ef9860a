"""What the broker does, apart from HTTP: consent, code, exchange, introspection, revocation."""
