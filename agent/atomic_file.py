"""Atomic writing lives in the engine now, which keeps tables; this name stays for its callers."""

from engine.atomic_file import write_atomically

__all__ = ["write_atomically"]
