"""Boards into decisions: value net, look-ahead, cube. Never learns, never plays a whole match."""
