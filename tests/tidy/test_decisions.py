"""Decision records: each says its status and its date in the same way, and the index lists it under its title.

# 0022 One log of commands

- Status: accepted
- Date: 2026-11-16
- Superseded in part by [0032](0032-a-log-and-a-mark.md): …     optional, as are lines `- Revised: date, …`
"""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECORDS = sorted((ROOT / "docs/decisions").glob("*.md"))
LINK = r"\[(?P<number>\d{4})\]\((?P=number)-[a-z0-9-]+\.md\)"
_STATUS = re.compile(rf"- Status: (?:proposed|accepted|superseded by {LINK})")
_DATE = re.compile(r"- Date: (\d{4}-\d\d-\d\d)")
_FURTHER = re.compile(rf"- (?:Superseded in part by {LINK}: .+|Revised: (?P<date>\d{{4}}-\d\d-\d\d), .+)")

every_record = pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)


def test_there_are_records() -> None:
    numbers = [record.name[:4] for record in RECORDS]
    assert numbers
    assert len(numbers) == len(set(numbers))


def head_of(record: Path) -> list[str]:
    """The list under the title, an item a line."""
    _, head, _ = record.read_text().split("\n\n", 2)
    return head.replace("\n  ", " ").splitlines()


@every_record
def test_a_record_says_its_number_status_and_date(record: Path) -> None:
    assert record.read_text().startswith(f"# {record.name[:4]} ")
    status, day, *_ = [*head_of(record), ""]
    assert _STATUS.fullmatch(status)
    found = _DATE.fullmatch(day)
    assert found is not None
    date.fromisoformat(found[1])


@every_record
def test_further_lines_say_what_became_of_the_decision(record: Path) -> None:
    for line in head_of(record)[2:]:
        found = _FURTHER.fullmatch(line)
        assert found is not None, line
        date.fromisoformat(found["date"] or "2000-01-01")


@every_record
def test_the_index_lists_a_record_under_its_title(record: Path) -> None:
    title = record.read_text().splitlines()[0].removeprefix("# ")
    assert f"- [{title}](decisions/{record.name})\n" in (ROOT / "docs/index.md").read_text()
