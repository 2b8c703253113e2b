"""Other programs as players, each optional."""
