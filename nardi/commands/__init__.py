"""One thin file per subcommand."""
