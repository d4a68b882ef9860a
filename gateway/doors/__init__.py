"""Doors translate what a host says into a request and an answer back; they never decide."""
