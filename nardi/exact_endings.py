"""Makes the tables of exact endings ready, and tells the user why that takes seconds once."""

import sys

__all__ = ["prepare_tables"]

_NOTICE = "nardi: computing exact endings; this happens once and takes some seconds"


def prepare_tables() -> None:
    """Load the tables, or compute them with a notice on stderr; later callers find them there."""
    from engine.bearoff.tables import load_tables

    def tell(done: int, _: int) -> None:
        if done == 0:
            print(_NOTICE, file=sys.stderr, flush=True)

    load_tables(tell)
