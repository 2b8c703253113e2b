"""Tells the user why the very first call is slow: the engine is compiled for this machine then."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["compiling_is_told", "no_cache_hint"]

_NOTICE = "nardi: compiling the engine for this machine; this happens once and may take a minute"


@contextmanager
def compiling_is_told() -> Iterator[None]:
    """Say on stderr that compiling happens once, as soon as it begins; silent with a warm cache.

    What may have to be compiled is to be called within.
    """
    from numba.core import event

    class Teller(event.Listener):  # type: ignore[misc,unused-ignore]
        told = False

        def on_start(self, _: object) -> None:
            if not self.told:
                print(_NOTICE, file=sys.stderr, flush=True)
            self.told = True

        def on_end(self, _: object) -> None:
            pass

    with event.install_listener("numba:compile", Teller()):
        yield


def no_cache_hint(error: Exception) -> str | None:
    """What to do if an error means that compiled code can be kept nowhere; None for all others."""
    if isinstance(error, RuntimeError) and "cannot cache function" in str(error):
        return (
            "there is no folder to keep compiled code in: neither the installation nor the user's"
            " cache folder can be written; name one in the environment variable NUMBA_CACHE_DIR"
        )
    return None
