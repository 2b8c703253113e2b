"""Exact endings: races near their end, solved once by the project itself; see docs/bearoff.md."""
