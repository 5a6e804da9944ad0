"""What is not run, and why. The engine has to refuse these queries with the code that stands here: no entry gets old.

Some name tests of the full suite that the archive of the project leaves out.
"""

from __future__ import annotations

_SERVICE = ("SERVICE: queries do not contact other servers", "unsupported.service")

# By test: the reason, and the code of the refusal.
REFUSED: dict[str, tuple[str, str]] = {
    "sparql11/syntax-fed/test_1": _SERVICE,
    "sparql11/syntax-fed/test_2": _SERVICE,
    "sparql11/syntax-fed/test_3": _SERVICE,
}
