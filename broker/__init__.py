"""The broker: an OAuth 2.0 authorization server that mints one credential for one decided call.

It holds what people have granted to agents and hands the gateway an access token only for a call
that was decided first: one audience, one scope, one operation, at most 300 seconds. It shares no
code with the gateway; `docs/wire.md` is all that both know.
"""
