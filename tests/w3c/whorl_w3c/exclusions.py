"""What is not run, and why. The engine has to refuse these queries with the code that stands here: no entry gets old.

Some name tests of the full suite that the archive of the project leaves out.
"""

from __future__ import annotations

_SERVICE = ("SERVICE: queries ask no other server", "unsupported.service")
_FUNCTION = ("a function that does not exist is refused before the query runs", "expr.unknown_function")

# By test: the reason, and the code of the refusal.
REFUSED: dict[str, tuple[str, str]] = {
    "sparql10/syntax-sparql1/syntax-expr-05": _FUNCTION,
    "sparql10/syntax-sparql1/syntax-order-05": _FUNCTION,
    "sparql10/syntax-sparql1/syntax-order-06": _FUNCTION,
    "sparql10/syntax-sparql2/syntax-function-01": _FUNCTION,
    "sparql10/syntax-sparql2/syntax-function-02": _FUNCTION,
    "sparql10/syntax-sparql2/syntax-function-03": _FUNCTION,
    "sparql10/syntax-sparql2/syntax-function-04": _FUNCTION,
    "sparql11/syntax-fed/test_1": _SERVICE,
    "sparql11/syntax-fed/test_2": _SERVICE,
    "sparql11/syntax-fed/test_3": _SERVICE,
}
