"""The entries of the W3C suite, read once for all tests of this directory."""

from __future__ import annotations

import pytest
from whorl_w3c.suite import ARCHIVE, load_suite

SUITE = load_suite()
ENTRIES = [] if SUITE is None else SUITE.entries()
needs_archive = pytest.mark.skipif(
    SUITE is None, reason=f"{ARCHIVE} is missing; set WHORL_TEST_DATA to the directory of the test data"
)
