"""A door's way to a pipeline: in its own process (level `embedded`), later the daemon's socket.

The configuration says which; a door never falls back from one to another.
"""
