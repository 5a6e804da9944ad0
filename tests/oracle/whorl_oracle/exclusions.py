"""What is not asked, and why: where pyoxigraph does not follow SPARQL 1.1, or SPARQL leaves the answer open.

The generators of the whole language keep to this list; each entry names what they avoid. `rare`, which the oracle's own
algebra evaluates, asks some of it. Nothing here is a known fault of the engine.
"""

from __future__ import annotations

EXCLUSIONS: dict[str, str] = {
    "<, <=, >, >= of two terms that may have no order": (
        "pyoxigraph has an answer for equal ones, where SPARQL has an error"
    ),
    "NaN": "pyoxigraph says that NaN >= NaN; the algebra's own campaign (rare.py) has it",
    "literals in a lexical form that is not canonical": (
        "pyoxigraph's store keeps their value and gives back one form; the engine keeps the term"
        " (vocabulary.py has canonical forms only)"
    ),
    "GROUP_CONCAT of literals with a language": "pyoxigraph may keep a common language; it is always given STR(…)",
    "zero divided by a decimal with a fraction": "pyoxigraph has no value for it; it is zero",
    "xsd:date, xsd:time, durations": (
        "pyoxigraph compares them, which SPARQL 1.1 does not: to the engine they are literals of an unknown type"
    ),
    ":p* with a constant that is not in the graph": (
        "pyoxigraph gives no zero-length path (closures begin and end in variables)"
    ),
    "equality with the beginning of a path of length zero": (
        "pyoxigraph takes it for no literal and compares terms; spelling.plain_pattern tells it otherwise"
    ),
    "comparisons of IRIs, booleans and NaN": (
        "pyoxigraph has other rules than SPARQL 1.1 §17.3; standard.py asks it only where it can be trusted"
    ),
    "language tags with a region or a script": (
        "pyoxigraph brings them to lower case, the engine to the form that RFC 5646 recommends (docs/decisions/0028)"
    ),
    "GRAPH ?g around what mentions ?g": "pyoxigraph binds ?g too early",
    "MINUS inside EXISTS": "pyoxigraph does not put the outer solution in",
    "MINUS inside OPTIONAL with variables from outside": "pyoxigraph puts the outer solution in before it subtracts",
    "GROUP BY (?x AS ?y) of a bare variable": "pyoxigraph forgets ?y; it is written COALESCE(?x)",
    "COUNT of an expression that fails": "pyoxigraph counts it (docs/decisions/0011)",
    "the order of rows that ORDER BY leaves open": "LIMIT and OFFSET go with total orders (Whole.total_order)",
    "SAMPLE of different values, MIN and MAX of equal ones": "SPARQL leaves the choice open",
    "REDUCED under LIMIT, in sub-queries and in differences": "SPARQL leaves the number of copies open",
    "blank nodes in data and templates": "compared by the W3C tests",
    "RAND(), UUID(), STRUUID(), BNODE()": "only their types and lengths are determined",
    "alternatives and negated sets in paths": "pyoxigraph gives each pair once; paths.py takes paths apart",
    "lateness over windows by count, and events behind an explicit watermark there": (
        "an event behind the watermark is counted at the next evaluation; the contract leaves open which instant that"
        " is where nothing else would be read"
    ),
    "bag windows under WINDOW ?w and graphs of events": (
        "a named graph per element cannot say them in plain SPARQL; the Rust twin has them"
    ),
}
