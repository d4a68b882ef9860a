"""What `make` runs: the demo, the services to play with by hand, the checks."""
