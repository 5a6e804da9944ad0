"""One pair, asked of the engine and of the oracle; a campaign over many seeds.

`python -m whorl_oracle.check 0-49999` (in tests/oracle) runs a range of seeds on all cores and prints what it finds.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from whorl import UnsupportedQueryError

from whorl_oracle import generate, whole
from whorl_oracle.model import Close, Now, Past, Sliding, Step
from whorl_oracle.shrink import case_text, shrink
from whorl_oracle.subject import answers_by_action, difference, expected_by_action

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl_oracle.run import Answer
    from whorl_oracle.streams import Pair

BLOCK = 250


def without_open_ends(one: Pair) -> Pair:
    """The pair without the end of all streams, where the contract leaves open which empty windows still report.

    With several streams the order in which they end decides, also with what a waiting window by count is read. A window
    that slides becomes empty without a last report, and a period alone goes on until what came has been shown (see
    docs/decisions/0003-end-of-stream.md).
    """
    report = one.query.options.report
    kinds = [window.kind for window in one.query.windows]
    steps = any(isinstance(kind, Step | Past) for kind in kinds)
    mixed = steps and any(isinstance(kind, Sliding | Now) for kind in kinds)
    streams = {window.stream for window in one.query.windows}
    period_alone = report.periodic is not None and not report.close and not report.change
    if period_alone or (report.close and (len(streams) > 1 or mixed)):
        return replace(one, actions=tuple(action for action in one.actions if not isinstance(action, Close)))
    return one


def fault(one: Pair, expected: list[list[Answer]] | None = None) -> str | None:
    """What is wrong, in words; None when the engine and the oracle agree."""
    expected = expected_by_action(one) if expected is None else expected
    try:
        found = answers_by_action(one)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
        return f"{type(error).__name__}: {error}"
    return difference(one, expected, found)


def still_fails(one: Pair) -> bool:
    """While a pair is made small it may lose its meaning; then it is no finding."""
    try:
        expected_by_action(one)
    except Exception:  # noqa: BLE001 - a pair made smaller may be invalid
        return False
    reason = fault(one)
    return reason is not None and not reason.startswith(UnsupportedQueryError.__name__)


def story(one: Pair) -> str:
    expected = [answer for answers in expected_by_action(one) for answer in answers]
    try:
        found = [answer for answers in answers_by_action(one) for answer in answers]
    except Exception as error:  # noqa: BLE001 - any error is a finding
        return case_text(one, expected, repr(error))
    return case_text(one, expected, found)


@dataclass
class Tally:
    """What came of some pairs."""

    pairs: int = 0
    refused: int = 0
    # Pairs with an answer that says something: a generator of empty answers would prove nothing.
    fruitful: int = 0
    # The first difference, shrunk.
    findings: tuple[str, ...] = ()

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.pairs + other.pairs,
            self.refused + other.refused,
            self.fruitful + other.fruitful,
            self.findings + other.findings,
        )


def pair_of(seed: int) -> Pair:
    """Of five pairs, four are from the whole language and one is from its incremental core."""
    return without_open_ends(generate.pair(seed) if seed % 5 == 0 else whole.pair(seed))


def checked(seed: int) -> Tally:
    """One pair; a difference is made small."""
    one = pair_of(seed)
    expected = expected_by_action(one)
    reason = fault(one, expected)
    if reason is None:
        return Tally(1, 0, int(any(answer.inserted or answer.deleted for answers in expected for answer in answers)))
    if reason.startswith(UnsupportedQueryError.__name__):
        return Tally(1, 1)
    return Tally(1, 0, 0, (f"seed {seed}: {reason}\n{story(shrink(one, still_fails))}",))


def checked_all(seeds: range) -> Tally:
    total = Tally()
    for seed in seeds:
        total += checked(seed)
    return total


def blocks(seeds: range) -> list[range]:
    """Seeds in blocks, so that a run shows where it is."""
    return [seeds[start : start + BLOCK] for start in range(0, len(seeds), BLOCK)]


def seed_range(text: str) -> range:
    """`17` or `0-5000`."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def campaign(seeds: range, processes: int | None = None) -> Iterator[tuple[range, Tally]]:
    """All seeds, in blocks, on all cores."""
    with ProcessPoolExecutor(processes or os.cpu_count()) as pool:
        yield from zip(blocks(seeds), pool.map(checked_all, blocks(seeds)), strict=True)


def main() -> None:
    total = Tally()
    for _, tally in campaign(seed_range(sys.argv[1])):
        total += tally
        for finding in tally.findings:
            print(finding, end="\n\n", flush=True)
    print(f"{total.pairs} pairs, {total.refused} refused, {total.fruitful} fruitful, {len(total.findings)} differ")


if __name__ == "__main__":
    main()
