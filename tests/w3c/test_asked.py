"""The W3C tests of SPARQL 1.0 and 1.1, asked once: the way of `/sparql`.

Each is answered by the engine, and beside it from a copy of what it reads. They see where a query that is asked means
something else than one that runs. They cannot see windows.
"""

from __future__ import annotations

import pytest
from w3c_entries import ENTRIES, SUITE, needs_archive
from whorl_w3c.asked import asked_fault
from whorl_w3c.exclusions import REFUSED
from whorl_w3c.suite import Entry, Kind

ASKED = [entry for entry in ENTRIES if entry.kind is Kind.EVALUATION and entry.id not in REFUSED]


@needs_archive
@pytest.mark.parametrize("beside", [False, True], ids=["engine", "beside"])
@pytest.mark.parametrize("entry", ASKED or [None], ids=lambda entry: "none" if entry is None else entry.id)
def test_asked_answer_is_the_expected_one(entry: Entry, *, beside: bool) -> None:
    assert SUITE is not None
    fault = asked_fault(SUITE, entry, beside=beside)
    if fault is not None:
        pytest.fail(f"{entry.id}: {fault}", pytrace=False)
