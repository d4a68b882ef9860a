"""Three small real APIs with synthetic data, and the insecure pattern they replace.

`calendar`, `mail` and `files` are resource servers of the broker: each serves one decided call per
token. `naive` shows what is commonly shipped instead; never run it on anything but loopback.
"""
