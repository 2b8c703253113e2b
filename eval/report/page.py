"""A self-contained HTML page of tables, plots and texts; nothing in it is fetched from elsewhere.

Every text goes through `escaped` on its way in: names of bots, files and runs come from outside.
"""

import html
from collections.abc import Iterable, Sequence
from typing import Final

__all__ = [
    "Html",
    "boards",
    "escaped",
    "facts",
    "figure",
    "note",
    "page",
    "preformatted",
    "section",
    "table",
]


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1d2329; --soft: #5c6670; --paper: #fdfdfb;
  --line: #d9dcdf; --grid: #e3e6e8; --zero: #8a939b;
  --s0: #0b62a8; --s1: #c2570c; --s2: #1d7a46; --s3: #8a3fa0; --s4: #a67c00; --s5: #b3263a;
  --s6: #0f7f86; --s7: #5f6368; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7ea; --soft: #a3adb6; --paper: #16191c;
  --line: #3a4147; --grid: #2c3237; --zero: #7b858d;
  --s0: #6ab0f3; --s1: #f0935a; --s2: #5fc78c; --s3: #c78fe0; --s4: #dcb64a; --s5: #f07f8c;
  --s6: #58c6cd; --s7: #b0b6bb; } }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1.25rem 3rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; padding-top: .8rem;
  border-top: 1px solid var(--line); overflow-wrap: anywhere; }
.lead { font-size: 1.1rem; margin: 0 0 1rem; overflow-wrap: anywhere; }
p { max-width: 44rem; margin: .6rem 0; }
.note, figcaption, caption { color: var(--soft); font-size: .9rem; }
figure { margin: 1.2rem 0; }
figure svg { width: 100%; height: auto; display: block; }
figure svg * { stroke-linejoin: round; stroke-linecap: butt; }
figcaption { max-width: 48rem; margin-top: .3rem; }
.scroll { overflow-x: auto; margin: .8rem 0; }
table { border-collapse: collapse; font-size: .95rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: .3rem; }
th, td { padding: .22rem .8rem .22rem 0; text-align: left; vertical-align: top; }
th.n, td.n { text-align: right; padding: .22rem 0 .22rem 1.1rem; white-space: nowrap; }
thead th { border-bottom: 1px solid var(--line); font-weight: 600; }
tbody th { font-weight: 400; overflow-wrap: anywhere; }
tbody tr + tr > * { border-top: 1px solid var(--grid); }
.facts th { color: var(--soft); padding-right: 1.5rem; white-space: nowrap; }
.facts td { overflow-wrap: anywhere; }
.facts tr > * { border: 0 !important; }
.boards { display: grid; grid-template-columns: repeat(auto-fill, minmax(27rem, 1fr));
  gap: 0 2rem; }
pre { font: .82rem/1.25 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  overflow-x: auto; margin: .5rem 0; }
@media (max-width: 32rem) { .boards { display: block; } }
@media print { h2 { break-after: avoid; } figure, pre { break-inside: avoid; } }
"""


def escaped(text: str) -> Html:
    """Any text, to be put between tags or into a quoted attribute."""
    if isinstance(text, Html):
        return text
    # Other control characters are no characters of HTML.
    readable = "".join(c if c >= " " or c in "\n\t" else "\ufffd" for c in text)
    return Html(html.escape(readable))


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str = "",
    texts: Sequence[int] = (),
) -> Html:
    """A table whose first column names the row; the others are numbers, set to the right.

    texts: numbers of columns beside the first that are texts and set to the left.
    """

    def cell(tag: str, column: int, text: str, scope: str) -> str:
        kind = "" if column == 0 or column in texts else ' class="n"'
        return f"<{tag}{kind}{scope}>{escaped(text)}</{tag}>"

    head = "".join(cell("th", i, text, ' scope="col"') for i, text in enumerate(header))
    lines = []
    for row in rows:
        cells = [cell("th", 0, row[0], ' scope="row"')]
        cells += [cell("td", i, text, "") for i, text in enumerate(row[1:], 1)]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    title = f"<caption>{escaped(caption)}</caption>\n" if caption else ""
    body = "\n".join(lines)
    return Html(
        f'<div class="scroll"><table>\n{title}<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def facts(pairs: Iterable[tuple[str, str]]) -> Html:
    """Names and what they are, one a line."""
    rows = "\n".join(
        f'<tr><th scope="row">{escaped(name)}</th><td>{escaped(value)}</td></tr>'
        for name, value in pairs
    )
    return Html(f'<div class="scroll"><table class="facts"><tbody>\n{rows}\n</tbody></table></div>')


def figure(drawing: Html, caption: str) -> Html:
    """A plot with what there is to see in it, units and error bars told."""
    return Html(f"<figure>\n{drawing}\n<figcaption>{escaped(caption)}</figcaption>\n</figure>")


def note(text: str) -> Html:
    """A remark in small print."""
    return Html(f'<p class="note">{escaped(text)}</p>')


def preformatted(text: str) -> Html:
    """Text whose columns count."""
    return Html(f"<pre>{escaped(text)}</pre>")


def boards(drawn: Iterable[Html]) -> Html:
    """Drawings of boards, side by side where there is room."""
    return Html("\n".join(['<div class="boards">', *drawn, "</div>"]))


def section(title: str, *parts: Html) -> Html:
    """A part of the page under a heading."""
    return Html("\n".join([f"<section>\n<h2>{escaped(title)}</h2>", *parts, "</section>"]))


def page(title: str, lead: str, *parts: Html) -> str:
    """The whole document. lead: the result in one sentence."""
    body = "\n".join(parts)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escaped(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>{escaped(title)}</h1>
<p class="lead">{escaped(lead)}</p>
{body}
</main>
</body>
</html>
"""
