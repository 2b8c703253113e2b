"""Plots as SVG that lives inside a page: matplotlib's, in the page's own colours and type.

The same data give the same bytes (with the same version of matplotlib). pyplot, with its global
state and windows, is not used.
"""

import contextlib
import io
import re
import warnings
from collections.abc import Iterator
from typing import Any, Final

from engine.errors import NardiError
from eval.report.page import Html, escaped

__all__ = [
    "INK",
    "NoPlotsError",
    "check_drawable",
    "drawing",
    "legend_text",
    "new_figure",
    "series_color",
    "svg",
]

Z95: Final = 1.96
"""Standard errors from the mean to an end of its 95 % interval."""
INK: Final = "#1d2329"
_GRID: Final = "#e3e6e8"
_ZERO: Final = "#8a939b"
_SERIES: Final = (
    "#0b62a8",
    "#c2570c",
    "#1d7a46",
    "#8a3fa0",
    "#a67c00",
    "#b3263a",
    "#0f7f86",
    "#5f6368",
)
# What stands in the SVG instead, so that a dark page has its own colours; see page.py.
_VARIABLES: Final = {
    INK: "--ink",
    _GRID: "--grid",
    _ZERO: "--zero",
    **{color: f"--s{i}" for i, color in enumerate(_SERIES)},
}

_SETTINGS: Final[Any] = {
    "svg.fonttype": "none",  # text stays text: it can be selected and read aloud
    "svg.hashsalt": "nardi",  # names of clip paths are random otherwise
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib
    "text.parse_math": False,  # a "$" in a name is a "$"
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.labelsize": 9.0,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.edgecolor": _ZERO,
    "xtick.color": _ZERO,
    "ytick.color": _ZERO,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "grid.color": _GRID,
    "grid.linewidth": 0.8,
    "lines.linewidth": 1.5,
    "lines.markersize": 3.5,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.unicode_minus": True,
}


class NoPlotsError(NardiError):
    """matplotlib is not installed."""


def check_drawable() -> None:
    """Raise NoPlotsError if there can be no plots; to be called before anything takes long."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise NoPlotsError(
            f"reports need matplotlib ({error}); install it: pip install 'nardi[report]', or pip"
            " install matplotlib"
        ) from None


def zero_line(panel: Any) -> None:
    """A line at 0, if 0 is in sight."""
    low, high = panel.get_ylim()
    if low < 0 < high:
        panel.axhline(0.0, color=_ZERO, linewidth=1.0, zorder=1)


@contextlib.contextmanager
def drawing() -> Iterator[None]:
    """Our settings of matplotlib, whatever the user's file of settings says."""
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        # The page is shown in the reader's font, which may well have what ours lacks.
        warnings.filterwarnings("ignore", r"Glyph .* missing from")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        yield


def new_figure(width: float, height: float) -> Any:
    """An empty figure, to be used within `drawing`; sizes in inches of 100 page pixels."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def series_color(number: int) -> str:
    """Colour of a series; after the last one they begin again."""
    return _SERIES[number % len(_SERIES)]


def legend_text(name: str) -> str:
    """The name as a label; matplotlib would leave out what begins with an underscore."""
    return f"\u200b{name}" if name.startswith("_") else name


def svg(figure: Any, name: str, description: str) -> Html:
    """The figure as an element of a page; to be used within `drawing`.

    name: unlike all others on the page, letters and dashes only. description: for those who cannot
    see it.
    """
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None})
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    # It would hold for the whole page; page.py has the same for plots.
    text = re.sub(r"<style[^>]*>.*?</style>\s*", "", text, flags=re.DOTALL)
    # Identifiers must differ between the plots of a page.
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'xlink:href="#([^"]+)"', rf'href="#{name}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
    for color, variable in _VARIABLES.items():
        text = text.replace(color, f"var({variable})")
    text = re.sub(r"font: ([\d.]+px) [^;\"]+", r"font-size: \1; font-family: inherit", text)
    box = re.search(r'viewBox="([^"]+)"', text)
    assert box is not None
    head = f'<svg viewBox="{box[1]}" role="img" aria-label="{escaped(description)}">'
    return Html(re.sub(r"<svg[^>]*>", lambda _: head, text, count=1).strip())
