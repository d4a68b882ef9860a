"""The command `counterfoil`: a file per subcommand, each with `add_parser` and `run`."""
