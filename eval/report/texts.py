"""Numbers as people read them."""

import math

__all__ = ["count", "percent", "with_error"]


def count(number: int) -> str:
    """1,200,000."""
    return f"{number:,}"


def with_error(mean: float, stderr: float, digits: int, sign: str = "") -> str:
    """A mean and its standard error, as far as they are known. sign: "+" shows a plus, too."""
    if math.isnan(mean):
        return "–"
    text = f"{mean:{sign}.{digits}f}"
    return text if math.isnan(stderr) else f"{text} ± {stderr:.{digits}f}"


def percent(mean: float, stderr: float = math.nan, digits: int = 1) -> str:
    """A share between 0 and 1."""
    return f"{with_error(100 * mean, 100 * stderr, digits)} %"
