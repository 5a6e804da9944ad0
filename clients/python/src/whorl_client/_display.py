"""Results, queries and plans for people: text in a console, HTML in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ._json import JsonObject, inner, objects, strings
from ._terms import term_of

if TYPE_CHECKING:
    from ._models import Answer, Gap, QueryInfo

ROWS_SHOWN_MAX = 50
# Legible on light and on dark notebooks.
_NEW = ' style="background: rgb(60 196 180 / 25%)"'
_COUNTERS = ("keeps", "live", "matched", "rows", "groups")


def answer_html(answer: Answer, *, known: frozenset[tuple[str, ...]] | None = None) -> str:
    """A table; of a long answer the first rows. Rows that are not among the known ones are marked."""
    caption = _caption(answer)
    if answer.kind == "boolean":
        return f"{caption}<p><b>{str(answer.boolean).lower()}</b></p>"
    columns = _statement_columns(answer) if answer.kind == "graph" else answer.variables
    signed = [*(("+", row) for row in cells(answer)), *(("−", row) for row in cells(answer, gone=True))]
    sign = [""] if answer.has_changes else []
    head = "".join(f"<th>{escape(name)}</th>" for name in [*sign, *columns])
    body = "".join(
        f"<tr{_NEW if known is not None and row not in known else ''}>"
        + "".join(f"<td>{cell}</td>" for cell in [*([mark] if sign else []), *map(escape, row)])
        + "</tr>"
        for mark, row in signed[:ROWS_SHOWN_MAX]
    )
    more = len(signed) - ROWS_SHOWN_MAX
    foot = f"<p>… and {more} more</p>" if more > 0 else ""
    return f"{caption}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}"


def gap_text(gap: Gap) -> str:
    """How many results are missing, and why."""
    if gap.from_seq is None or gap.to_seq is None:
        return f"results are missing ({gap.reason})"
    count = gap.to_seq - gap.from_seq + 1
    return f"{count} result{'' if count == 1 else 's'} missing ({gap.reason})"


def query_html(query: QueryInfo) -> str:
    """Name, state and text."""
    facts = f"{escape(query.dialect)} · {escape(query.status)} · last result {query.last_seq}"
    return f"<p><b>{escape(query.name)}</b> {facts}</p><pre>{escape(query.text)}</pre>"


def plan_html(document: JsonObject) -> str:
    """The tree as text in HTML."""
    return f"<pre>{escape(plan_text(document))}</pre>"


def plan_text(document: JsonObject) -> str:
    """One operator per line, inputs indented."""
    lines = [_headline(inner(document, "query"))]
    windows = objects(document, "windows")
    lines += [
        f"window {w.get('short', w.get('name'))} on <{w.get('stream')}> {w.get('text', '')}".rstrip() for w in windows
    ]
    root = inner(document, "root")
    if root:
        _add_operator(lines, root, 0)
    return "\n".join(line for line in lines if line)


def _headline(query: JsonObject) -> str:
    variables = " ".join(strings(query, "variables"))
    first = " ".join(str(word) for word in (query.get("dialect"), query.get("form"), variables) if word)
    return " · ".join(str(word) for word in (first, query.get("r2s"), query.get("semantics")) if word)


def _add_operator(lines: list[str], node: JsonObject, depth: int) -> None:
    counters = [f"{name} {node[name]}" for name in _COUNTERS if name in node]
    words = [f"{node.get('operator', '?')} {node.get('detail', '')}".rstrip(), str(node.get("mode", "")), *counters]
    lines.append("  " * depth + " · ".join(word for word in words if word))
    for child in objects(node, "inputs"):
        _add_operator(lines, child, depth + 1)


def _caption(answer: Answer) -> str:
    return "" if not answer.meta else f"<p>seq {answer.meta['_seq']} · t {answer.meta['_t']}</p>"


def _statement_columns(answer: Answer) -> list[str]:
    """Those of triples; the names of graphs are shown if there is one."""
    is_named = any(len(statement) > 3 for gone in (False, True) for statement in answer.triples(gone=gone))
    return ["subject", "predicate", "object", "graph"] if is_named else ["subject", "predicate", "object"]


def cells(answer: Answer, *, gone: bool = False) -> list[tuple[str, ...]]:
    """The cells of each row, as text."""
    if answer.kind == "graph":
        width = len(_statement_columns(answer))
        texts = (tuple(map(str, statement)) for statement in answer.triples(gone=gone))
        return [text + ("",) * (width - len(text)) for text in texts]
    rows = answer.bindings(gone=gone)
    return [tuple(str(term_of(row[name])) if name in row else "" for name in answer.variables) for row in rows]
