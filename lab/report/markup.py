"""HTML for tables, with every piece of text escaped. Colours come from the page: light and dark both work."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape


class Html(str):
    """Text that is HTML already; everything else is escaped on its way into a table."""

    __slots__ = ()


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, kind: str, caption: str) -> str:
    """A table of class `lab KIND`; the first cell of a row is its heading. `caption` is read out, not shown."""
    made = [f'<table class="lab {kind}"><caption>{html(caption)}</caption><thead><tr>']
    made += [f'<th scope="col">{html(cell)}</th>' for cell in head]
    made.append("</tr></thead><tbody>")
    for first, *others in rows:
        cells = "".join(f"<td>{html(cell)}</td>" for cell in others)
        made.append(f'<tr><th scope="row">{html(first)}</th>{cells}</tr>')
    made.append("</tbody></table>")
    return "".join(made)


def html(text: str) -> str:
    """As it may stand in HTML."""
    return text if isinstance(text, Html) else escape(text)


def as_typed(text: object) -> str:
    """For Streamlit's sentences, which are Markdown: what an address or an error says makes no link, no picture."""
    return re.sub(r"([\\`*_{}\[\]()<>#$~:!|])", r"\\\1", str(text))


def as_code(text: object) -> str:
    """For a visitor's own text in such a sentence: in a code span nothing becomes a link, not even an address."""
    plain = " ".join(str(text).replace("`", "ʼ").split())
    return f"`{plain}`" if plain else "–"


def explained(name: str, unit: str, means: str) -> Html:
    """A name that opens its definition."""
    return Html(
        f"<details><summary>{escape(name)} <small>{escape(unit)}</small></summary><p>{escape(means)}</p></details>"
    )


def with_swatch(text: str, colour: str) -> Html:
    """A name behind a patch of its colour."""
    return Html(f'<span class="swatch" style="background:{escape(colour)}"></span>{escape(text)}')
