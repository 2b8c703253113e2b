"""What every report must be: valid, self-contained, with no identifier twice."""

import re
from html.parser import HTMLParser

__all__ = ["Page", "parse"]

_VOID = {"meta", "br", "hr", "link", "img", "input"}
_NO_REFERENCE = re.compile(r"(?i)https?:|//[a-z]|@import|url\((?!#)|<script|<link|<iframe")


class Page(HTMLParser):
    """A parsed page: its texts by tag, cells of its tables, identifiers."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.rows: list[list[str]] = []
        self.ids: list[str] = []
        self.references: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in _VOID:
            self.open.append(tag)
        self.texts.setdefault(tag, []).append("")
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), (tag, attrs)
        for name, value in attrs:
            assert not name.startswith("on"), (tag, name)
            if name == "id" and value is not None:
                self.ids.append(value)
            if name in ("href", "src") and value is not None:
                self.references.append(value)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1:] == [tag], f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.texts[tag][-1] += data
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def parse(text: str) -> Page:
    """Check a page and take it apart."""
    assert text.startswith("<!DOCTYPE html>\n<html lang=")
    found = _NO_REFERENCE.search(text)
    assert found is None, text[found.start() - 80 : found.end() + 80]
    page = Page()
    page.feed(text)
    page.close()
    assert page.open == []
    assert len(page.ids) == len(set(page.ids)), "an identifier occurs twice"
    known = {f"#{name}" for name in page.ids}
    assert set(page.references) <= known
    assert set(re.findall(r"url\((#[^)]+)\)", text)) <= known
    assert len(page.texts["h1"]) == 1
    assert page.texts["title"][0] == page.texts["h1"][0]
    return page
