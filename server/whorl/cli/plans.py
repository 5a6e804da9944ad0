"""The plan of a running query as a tree, with the state of each operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.cli.counts import counted, size

if TYPE_CHECKING:
    from rich.tree import Tree


def plan_tree(name: str, plan: dict[str, Any]) -> Tree:
    """Windows first, then operators, each above its inputs."""
    from rich.tree import Tree

    query = plan.get("query", {})
    words = [query.get("dialect"), query.get("form"), " ".join(query.get("variables", ()))]
    facts = [query.get("r2s"), "report " + ", ".join(query.get("report", ())), f"tick {query.get('tick')}"]
    tree = Tree(f"{name}: {' '.join(word for word in words if word)} · {' · '.join(str(fact) for fact in facts)}")
    for window in plan.get("windows", ()):
        tree.add(f"window {window['short']} on <{window['stream']}> {window['text']}")
    if "root" in plan:
        _add(tree, plan["root"])
    return tree


def _add(tree: Tree, operator: dict[str, Any]) -> None:
    branch = tree.add(_line(operator))
    for buffer in operator.get("buffers", ()):
        branch.add(_buffer(buffer))
    for order in operator.get("orders", ()):
        branch.add(f"order {' → '.join(map(str, order['order']))} · taken {order['taken']} times")
    for part in operator.get("inputs", ()):
        _add(branch, part)


def _line(operator: dict[str, Any]) -> str:
    facts = [f"{operator['operator']} {operator.get('detail', '')}".rstrip(), operator.get("mode")]
    facts += [f"keeps {operator['keeps']}" if "keeps" in operator else None]
    facts += [size(operator["bytes"]) if operator.get("bytes") else None]
    facts += [f"retraction {operator['retraction']}" if "retraction" in operator else None]
    facts += [f"{operator['early_stops']} early stops" if "early_stops" in operator else None]
    facts += [f"because {operator['reason']}" if "reason" in operator else None]
    return " · ".join(fact for fact in facts if fact)


def _buffer(buffer: dict[str, Any]) -> str:
    source = buffer.get("pattern") or f"input {buffer.get('input')}"
    facts = [f"{buffer['role']}: {source}"]
    facts += [f"{buffer['matched']} matched" if "matched" in buffer else "", f"{buffer.get('live', 0)} live"]
    indexes = buffer.get("indexes", [])
    facts += [f"index on {' '.join(index['on'])} ({counted(index['keys'], 'key')})" for index in indexes]
    facts += [size(buffer.get("bytes", 0) + sum(index["bytes"] for index in indexes))]
    return " · ".join(fact for fact in facts if fact)
