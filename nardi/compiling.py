"""Tells the user why the very first call is slow: the engine is compiled for this machine then."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from engine.errors import ConfigError

__all__ = ["compiling_is_told"]

_NOTICE = (
    "nardi: compiling the engine for this machine; this happens once and may take half a minute"
)


@contextmanager
def compiling_is_told() -> Iterator[None]:
    """Say on stderr that compiling happens once, as soon as it begins; silent with a warm cache.

    Engine modules with compiled code are to be imported and called within. Raises ConfigError if
    there is no folder to keep the compiled code in.
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

    try:
        with event.install_listener("numba:compile", Teller()):
            yield
    except RuntimeError as error:
        if "cannot cache function" not in str(error):
            raise
        raise ConfigError(
            "there is no folder to keep compiled code in: neither the installation nor the user's"
            " cache folder can be written; name one in the environment variable NUMBA_CACHE_DIR"
        ) from error
