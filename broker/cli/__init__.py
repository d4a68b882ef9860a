"""`python -m broker`: one module per command; `main` puts them together."""
