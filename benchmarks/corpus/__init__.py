"""Attacks and their benign twins: what the gate must stop, and what it must leave alone."""
