"""`python -m whorl_w3c [part of a name …]` runs the tests and prints what fails, and the table."""

from __future__ import annotations

import sys

from whorl_w3c.run import judge
from whorl_w3c.suite import ARCHIVE, load_suite
from whorl_w3c.table import outcome, table


def main(wanted: list[str]) -> int:
    """Run the tests whose names contain one of the words, or all."""
    suite = load_suite()
    if suite is None:
        sys.stderr.write(f"{ARCHIVE} is not there; WHORL_TEST_DATA says where data is\n")
        return 2
    entries = [entry for entry in suite.entries() if not wanted or any(word in entry.id for word in wanted)]
    verdicts = [judge(suite, entry) for entry in entries]
    failed = [verdict for verdict in verdicts if verdict.faults]
    for verdict in failed:
        sys.stdout.write("\n  ".join([verdict.entry.id, *verdict.faults]) + "\n\n")
    sys.stdout.write(table(map(outcome, verdicts)) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
