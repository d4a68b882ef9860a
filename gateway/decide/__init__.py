"""Deciding: policy in, verdict out. Pure: no I/O, no clock, no randomness.

`parse` reads bytes into a document, `compile_policy` turns it into an index, `Decide` answers.
"""
