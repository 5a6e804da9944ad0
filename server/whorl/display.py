"""Notebook output for queries, plans and results of the embedded engine."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl.results import ResultOf

ROWS_SHOWN_MAX = 50


class PlanText(str):
    """A plan as text; a notebook preserves its line breaks."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self)}</pre>"


def query_html(name: str, text: str, plan: str) -> str:
    """Name, text and plan; the plan is folded."""
    return (
        f"<p><b>{escape(name)}</b></p><pre>{escape(text)}</pre>"
        f"<details><summary>plan</summary><pre>{escape(plan)}</pre></details>"
    )


def result_html(result: ResultOf[Any]) -> str:
    """A table of additions and removals; only the first rows of a long result."""
    caption = f"<p>result {result.seq} · {result.time:%Y-%m-%d %H:%M:%S}</p>"
    if result.kind == "boolean":
        return f"{caption}<p><b>{str(result.boolean).lower()}</b></p>"
    columns = _statement_columns(result) if result.kind == "graph" else result.variables
    signed = [("+", row) for row in _cells(result.inserted, columns)]
    signed += [("−", row) for row in _cells(result.deleted, columns)]
    head = "".join(f"<th>{escape(name)}</th>" for name in ("", *columns))
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in (sign, *row)) + "</tr>"
        for sign, row in signed[:ROWS_SHOWN_MAX]
    )
    more = len(signed) - ROWS_SHOWN_MAX
    foot = f"<p>… and {more} more</p>" if more > 0 else ""
    return f"{caption}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}"


def _statement_columns(result: ResultOf[Any]) -> tuple[str, ...]:
    """The columns of triples; graph names are shown if there are any."""
    named = any(len(row) > 3 for row in (*result.inserted, *result.deleted))
    return ("subject", "predicate", "object", "graph") if named else ("subject", "predicate", "object")


def _cells(rows: Iterable[Any], columns: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The cells of each row as text: those of a solution in the order of its variables; a triple has no graph."""
    members = ((row[name] for name in columns) if isinstance(row, dict) else row for row in rows)
    texts = (tuple("" if term is None else str(term) for term in row) for row in members)
    return [text + ("",) * (len(columns) - len(text)) for text in texts]
