"""The broker over HTTP: a module per endpoint, `ingress` in front, `pages` for people."""
