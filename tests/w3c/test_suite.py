"""The W3C tests of SPARQL 1.0 and 1.1 through the engine.

They see wrong answers to plain SPARQL however a stream brings the data and takes it away. They cannot see wrong windows
or instants: the answer after the last event is all that counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from w3c_entries import ENTRIES, SUITE, needs_archive
from whorl_w3c.exclusions import REFUSED
from whorl_w3c.run import judge
from whorl_w3c.suite import Entry
from whorl_w3c.table import outcome

if TYPE_CHECKING:
    from collections.abc import Callable


@needs_archive
def test_suite_has_its_tests_and_exclusions_are_few() -> None:
    names = {entry.id for entry in ENTRIES}
    assert len(names) == len(ENTRIES) > 500
    assert {name.rpartition("/")[0] for name in names}.issuperset(name.rpartition("/")[0] for name in REFUSED)
    assert len(REFUSED) <= 10


@needs_archive
@pytest.mark.parametrize("entry", ENTRIES or [None], ids=lambda entry: "none" if entry is None else entry.id)
def test_answer_is_the_expected_one(entry: Entry, record_property: Callable[[str, object], None]) -> None:
    assert SUITE is not None
    verdict = judge(SUITE, entry)
    record_property("w3c", tuple(outcome(verdict)))
    if verdict.faults:
        pytest.fail("\n".join([entry.id, *verdict.faults]), pytrace=False)
    if verdict.excluded is not None:
        pytest.skip(verdict.excluded)
