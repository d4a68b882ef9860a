"""Reads the configuration and picks the implementations; the only room that knows them all."""
