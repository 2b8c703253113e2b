"""The command line: parses, wires, prints, returns the exit code."""

__all__ = ["__version__"]

__version__ = "0.1.0"
