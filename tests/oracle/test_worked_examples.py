"""The oracle itself against the worked examples A–P of the semantics. No engine takes part.

Each event carries one triple whose subject is the event's letter; the query lists the subjects.
"""

from __future__ import annotations

from whorl_oracle import (
    Advance,
    AllSoFar,
    Close,
    Elements,
    Now,
    Options,
    Oracle,
    Push,
    R2s,
    Report,
    Sliding,
    Step,
    Tick,
    Triples,
    Window,
    run,
)
from whorl_oracle.model import Action, Kind
from whorl_oracle.run import Row
from whorl_oracle.windows import Content

S = "urn:s"
NONEMPTY = Report(close=True, nonempty=True)
CLOSE = Report(close=True)
CHANGE = Report(close=False, change=True)


def event(letter: str, seconds: float, stream: str = S) -> Push:
    return Push(stream, round(seconds * 1000), ((letter, "p", "o"),))


def stream(text: str) -> list[Action]:
    """`a@0 b@2` as events, in seconds."""
    pairs = [word.split("@") for word in text.split()]
    return [event(letter, float(seconds)) for letter, seconds in pairs]


EVENTS: list[Action] = [*stream("a@0 b@2 c@5 d@5 e@7 f@10 g@23"), Close()]


def letters(contents: dict[str, Content]) -> list[Row]:
    """The subjects present, as a set."""
    return [(letter,) for letter in sorted({triple[0] for content in contents.values() for triple, _ in content})]


def occurrences(contents: dict[str, Content]) -> list[Row]:
    """The subjects present, as a bag."""
    return [(triple[0],) for content in contents.values() for triple, _ in content]


def count(contents: dict[str, Content]) -> list[Row]:
    return [(str(len(letters(contents))),)]


def joined(rows: tuple[Row, ...]) -> str:
    return "".join(sorted(value or "" for (value,) in rows))


def closes(kind: Kind, actions: list[Action] | None = None, **options: object) -> list[str]:
    """Each answer as `[open,close) letters`, in seconds."""
    chosen = Options(**{"report": NONEMPTY, **options})  # type: ignore[arg-type]  # keywords of Options
    answers = run([Window("w", S, kind)], chosen, actions or EVENTS, letters)
    lines = []
    for answer in answers:
        bounds = answer.windows["w"]
        assert bounds is not None
        lines.append(f"[{bounds[0] // 1000},{bounds[1] // 1000}) {joined(answer.inserted)}")
        assert answer.at == bounds[1]
    return lines


def ticks(kind: Kind, actions: list[Action], **options: object) -> list[tuple[int, str, str]]:
    chosen = Options(**options)  # type: ignore[arg-type]  # keywords of Options
    answers = run([Window("w", S, kind)], chosen, actions, occurrences if chosen.bag else letters)
    return [(answer.at, joined(answer.inserted), joined(answer.deleted)) for answer in answers]


def test_a_tumbling() -> None:
    assert closes(Step(5000, 5000)) == ["[0,5) ab", "[5,10) cde", "[10,15) f", "[20,25) g"]


def test_b_overlapping() -> None:
    expected = ["[0,10) abcde", "[5,15) cdef", "[10,20) f", "[15,25) g", "[20,30) g"]
    assert closes(Step(10000, 5000)) == expected
    assert closes(Step(10000, 5000), partial=True) == ["[-5,5) ab", *expected]


def test_c_slide_beyond_width() -> None:
    assert closes(Step(2000, 5000)) == ["[0,2) a", "[5,7) cd", "[10,12) f"]


def test_d_slide_that_does_not_divide_the_width() -> None:
    assert closes(Step(10000, 3000)) == [
        "[0,10) abcde",
        "[3,13) cdef",
        "[6,16) ef",
        "[9,19) f",
        "[15,25) g",
        "[18,28) g",
        "[21,31) g",
    ]


def test_e_origin() -> None:
    assert closes(Step(5000, 5000), t0=2000) == ["[2,7) bcd", "[7,12) ef", "[22,27) g"]


def test_f_events_of_one_instant_are_evaluated_together() -> None:
    found = ticks(Sliding(5000), stream("b@2 c@5 d@5 e@7"), report=CHANGE)
    assert found == [(2000, "b", ""), (5000, "bcd", "")]


def test_f_tick_tuple_evaluates_each() -> None:
    found = ticks(Sliding(5000), stream("b@2 c@5 d@5"), report=CHANGE, tick=Tick.TUPLE)
    assert found == [(2000, "b", ""), (5000, "bc", ""), (5000, "bcd", "")]


def test_g_behind_the_watermark_but_not_closed() -> None:
    actions = [*stream("e@7 x@6 f@10"), Close()]
    assert closes(Step(5000, 5000), actions) == ["[5,10) ex", "[10,15) f"]


def test_h_late_event_is_counted_and_left_out() -> None:
    oracle = Oracle([Window("w", S, Step(5000, 5000))], Options(), letters)
    for action in stream("a@0 y@9 x@3"):
        oracle.act(action)
    assert oracle.late == 1
    assert [joined(answer.inserted) for answer in oracle.answers] == ["a"]


def test_i_empty_window_is_reported() -> None:
    answers = run([Window("w", S, Step(5000, 5000))], Options(report=CLOSE), EVENTS, count)
    assert [(answer.at, answer.inserted) for answer in answers] == [
        (5000, (("2",),)),
        (10000, (("3",),)),
        (15000, (("1",),)),
        (20000, (("0",),)),
        (25000, (("1",),)),
        (30000, (("0",),)),
    ]


def test_j_istream_across_an_empty_window() -> None:
    actions = [*stream("x@0 x@12"), Close()]
    bare = ticks(Step(5000, 5000), actions, report=CLOSE, r2s=R2s.ISTREAM)
    assert [inserted for _, inserted, _ in bare] == ["x", "", "x", ""]
    skipping = ticks(Step(5000, 5000), actions, report=NONEMPTY, r2s=R2s.ISTREAM)
    assert [inserted for _, inserted, _ in skipping] == ["x", ""]


def test_k_istream_is_a_bag_difference() -> None:
    actions = [*stream("x@1 x@6 x@7"), Close()]
    found = ticks(Step(5000, 5000), actions, report=NONEMPTY, r2s=R2s.ISTREAM, bag=True)
    assert [inserted for _, inserted, _ in found] == ["x", "x"]


def test_l_set_and_bag() -> None:
    actions = [*stream("x@1 x@4"), Close()]
    assert ticks(Step(5000, 5000), actions, report=NONEMPTY) == [(5000, "x", "")]
    assert ticks(Step(5000, 5000), actions, report=NONEMPTY, bag=True) == [(5000, "xx", "")]


def test_m_triple_stays_until_its_last_copy_expires() -> None:
    actions = [*stream("x@1 x@4"), Close()]
    found = ticks(Sliding(5000), actions, report=CHANGE, r2s=R2s.CHANGES)
    assert [line for line in found if line[1:] != ("", "")] == [(1000, "x", ""), (9000, "", "x")]


def test_n_report_at_expiry() -> None:
    actions: list[Action] = [event("a", 0), Advance(6000)]
    assert ticks(Sliding(5000), actions, report=CHANGE) == [(0, "a", ""), (5000, "", "")]
    assert ticks(Sliding(5000), actions, report=CHANGE, r2s=R2s.DSTREAM) == [(0, "", ""), (5000, "", "a")]


def test_p_two_windows() -> None:
    windows = [Window("w1", S, Step(5000, 5000)), Window("w2", S, Step(3000, 3000))]
    answers = run(windows, Options(report=CLOSE), [*stream("a@0 b@4 c@11")], occurrences)
    assert [(answer.at, answer.windows["w1"], answer.windows["w2"], joined(answer.inserted)) for answer in answers] == [
        (3000, None, (0, 3000), "a"),
        (5000, (0, 5000), (0, 3000), "aab"),
        (6000, (0, 5000), (3000, 6000), "abb"),
        (9000, (0, 5000), (6000, 9000), "ab"),
        (10000, (5000, 10000), (6000, 9000), ""),
    ]


def test_bounds_closed_on_the_right_are_a_shift_by_one() -> None:
    actions: list[Action] = [*stream("a@0 b@5 c@5.001"), Close()]
    assert closes(Step(5000, 5000), actions, closed_right=True) == ["[0,5) b", "[5,10) c"]


def test_disorder_within_the_lateness_is_put_in_order() -> None:
    actions = [*stream("a@3 b@1 c@2 d@9"), Close()]
    found = ticks(Elements(2), actions, lateness=3000)
    assert found == [(1000, "b", ""), (2000, "bc", ""), (3000, "ac", ""), (9000, "ad", "")]


def test_count_windows_step() -> None:
    assert ticks(Elements(3, 2), stream("a@1 b@2 c@3 d@4 e@5 f@6")) == [(2000, "ab", ""), (4000, "bcd", "")]
    assert ticks(Triples(2), stream("a@1 b@2 c@3 d@4")) == [
        (1000, "a", ""),
        (2000, "ab", ""),
        (3000, "bc", ""),
    ]


def test_now_and_all() -> None:
    assert ticks(Now(), stream("a@1 b@1 c@3 d@4")) == [(1000, "ab", ""), (3000, "c", "")]
    assert ticks(AllSoFar(), stream("a@1 b@2 c@3")) == [(1000, "a", ""), (2000, "ab", "")]


# What the examples leave open, as docs/semantics.md closes it.


def test_tick_tuple_reads_an_event_together_with_what_expires_at_its_instant() -> None:
    found = ticks(Sliding(5000), stream("a@0 b@2 c@5 d@5 e@9"), report=CHANGE, tick=Tick.TUPLE)
    assert found == [
        (0, "a", ""),
        (2000, "ab", ""),
        (5000, "bc", ""),
        (5000, "bcd", ""),
        (7000, "cd", ""),
        (9000, "cde", ""),
    ]


def test_tick_tuple_reads_an_expiry_alone_where_nothing_arrives() -> None:
    actions: list[Action] = [*stream("a@0 b@2 c@6"), Advance(20_000)]
    found = ticks(Sliding(5000), actions, report=CHANGE, tick=Tick.TUPLE)
    assert [(at, letters) for at, letters, _ in found] == [
        (0, "a"),
        (2000, "ab"),
        (5000, "b"),
        (6000, "bc"),
        (7000, "c"),
        (11_000, ""),
    ]


def test_close_and_change_must_both_hold() -> None:
    actions: list[Action] = [*stream("a@1 a@6 a@16 b@21"), Advance(60_000)]
    report = Report(close=True, change=True)
    found = [(at, letters) for at, letters, _ in ticks(Step(5000, 5000), actions, report=report)]
    assert found == [(5000, "a"), (15_000, ""), (20_000, "a"), (25_000, "b"), (30_000, "")]


def test_change_that_nonempty_keeps_back_is_remembered() -> None:
    actions: list[Action] = [*stream("a@1 a@6 a@16 b@21"), Advance(60_000)]
    report = Report(close=True, change=True, nonempty=True)
    found = [(at, letters) for at, letters, _ in ticks(Step(5000, 5000), actions, report=report)]
    assert found == [(5000, "a"), (20_000, "a"), (25_000, "b")]


def test_period_shows_the_events_of_its_instant() -> None:
    report = Report(close=False, periodic=5)
    actions: list[Action] = [event("a", 0.004), event("b", 0.005), Advance(11)]
    for kind, at_five, at_ten in ((Now(), "b", ""), (AllSoFar(), "ab", "ab"), (Sliding(3), "ab", "")):
        assert ticks(kind, actions, report=report) == [(5, at_five, ""), (10, at_ten, "")]


def test_period_shows_windows_that_step_as_soon_as_they_are_known() -> None:
    report = Report(close=False, periodic=5)
    assert ticks(Step(3, 3), [event("a", 0.002), Advance(5)], report=report) == [(5, "a", "")]


def test_window_that_has_closed_takes_nothing_before_the_first_reading() -> None:
    oracle = Oracle([Window("w", S, Step(20, 5))], Options(lateness=1), letters)
    for action in (event("a", 1.035), event("x", 1.007), event("b", 1.020), event("c", 1.041)):
        oracle.act(action)
    assert oracle.late == 1
    assert [(answer.at, joined(answer.inserted)) for answer in oracle.answers] == [(1035, "b"), (1040, "ab")]


def test_late_under_change_is_what_no_open_window_covers() -> None:
    oracle = Oracle([Window("w", S, Step(2, 2))], Options(report=CHANGE), letters)
    for action in (event("a", 0.032), event("x", 0.031)):
        oracle.act(action)
    assert oracle.late == 1


def test_no_window_has_closed_before_t0() -> None:
    windows = [Window("w1", S, Step(50, 12)), Window("w2", S, Step(120, 60))]
    (first, *_) = run(windows, Options(report=CLOSE), [event("a", 0.093), event("b", 0.622)], occurrences)
    assert (first.at, first.windows) == (98, {"w1": (48, 98), "w2": None})


def test_query_registered_late_starts_at_the_watermark() -> None:
    oracle = Oracle([Window("w", S, Step(5000, 5000))], Options(report=CLOSE), letters, marks={S: 7000})
    for action in [*stream("a@8 b@13"), Close()]:
        oracle.act(action)
    assert [(answer.at, joined(answer.inserted)) for answer in oracle.answers] == [
        (10_000, "a"),
        (15_000, "b"),
        (20_000, ""),
    ]


def test_what_comes_behind_the_watermark_makes_no_evaluation() -> None:
    """`x` is in the open window, and is seen when the next event brings an evaluation."""
    actions: list[Action] = [Advance(3000), event("x", 2), event("a", 4), event("b", 4.5)]
    assert ticks(Step(5000, 5000), actions, report=CHANGE) == [(4000, "ax", "")]
