"""Writes a report: a page and its figures as JSON, in a folder that may hold other things too."""

import json
from pathlib import Path
from typing import Any, Final

from engine.atomic_file import write_atomically
from engine.errors import NardiError

__all__ = ["DATA", "PAGE", "ReportFolderError", "prepare_folder", "write_report"]

PAGE: Final = "report.html"
DATA: Final = "report.json"


class ReportFolderError(NardiError):
    """A folder that cannot be written."""


def prepare_folder(folder: Path) -> None:
    """Make the folder if it is not there; to be called before anything takes long."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReportFolderError(f"folder '{folder}' cannot be made: {error.strerror}") from None


def write_report(folder: Path, page: str, document: dict[str, Any]) -> Path:
    """Write both files, each at once, over those of an older report; the page's path."""
    prepare_folder(folder)
    data = json.dumps(document, allow_nan=False, indent=1) + "\n"
    try:
        write_atomically(folder / DATA, data.encode())
        write_atomically(folder / PAGE, page.encode("utf-8", errors="replace"))
    except OSError as error:
        raise ReportFolderError(
            f"the report cannot be written to '{folder}': {error.strerror}"
        ) from None
    return folder / PAGE
