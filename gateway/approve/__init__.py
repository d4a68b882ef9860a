"""Ask a person: what is shown, on which terminal, and what counts as an answer."""
