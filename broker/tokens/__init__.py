"""Tokens: strict JSON, keys, the one JWT module and what an access token says."""
