"""Carry out a permit once: files, commands, API calls with a credential minted for them."""
