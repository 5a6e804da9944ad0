"""Snapshots through the library: what is restored goes on as if nothing had happened."""

from __future__ import annotations

import pytest
from whorl import Engine, UnknownStreamError, WhorlError

S = "http://ex/s"
QUERY = """PREFIX : <http://ex/>
SELECT ?room (AVG(?t) AS ?mean) FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 5s]
WHERE { WINDOW :w { ?room :temp ?t } ?room :floor ?f } GROUP BY ?room"""


def running() -> Engine:
    """An engine with static data, a query, and undrained results."""
    engine = Engine()
    engine.load(None, "@prefix : <http://ex/> . :hall :floor 1 . :cellar :floor 0 .")
    engine.register(QUERY, "means")
    for second in range(12):
        engine.push(S, second * 1_000, f"<http://ex/hall> <http://ex/temp> {second} .")
    return engine


def finished(engine: Engine) -> list[bytes]:
    """All answers, after two more events and the end of the streams."""
    engine.push(S, 13_000, "<http://ex/cellar> <http://ex/temp> 7 .")
    engine.push(S, 21_000, "<http://ex/hall> <http://ex/temp> 1.5 .")
    engine.close()
    [query] = engine.queries()
    return query.results()


def test_a_restored_engine_gives_the_same_envelopes() -> None:
    engine = running()
    restored = Engine.restore(engine.snapshot())
    assert restored.snapshot() == engine.snapshot()
    assert restored.stats() == engine.stats()
    answers = finished(engine)
    assert len(answers) > 3
    assert finished(restored) == answers


def test_queries_keep_their_numbers_and_texts() -> None:
    engine = running()
    engine.queries()[0].unregister()
    second = engine.register(QUERY)
    [query] = Engine.restore(engine.snapshot()).queries()
    assert (query.number, query.text) == (second.number, QUERY) == (2, QUERY)


def test_queries_keep_their_names() -> None:
    engine = running()
    engine.register(QUERY)
    restored = Engine.restore(Engine.restore(engine.snapshot()).snapshot())
    assert [query.name for query in restored.queries()] == ["means", None]
    assert all(b'"query":"means"' in result for result in restored.queries()[0].results())


def test_options_of_a_new_engine_are_options_of_a_restored_one() -> None:
    restored = Engine.restore(running().snapshot(), result_rows_max=1, sharing=False, retraction="tree", hash_seed=5)
    assert next(b'"seq":2' in answer for answer in finished(restored)) is False
    with pytest.raises(ValueError, match="retraction is one of"):
        Engine.restore(running().snapshot(), retraction="wood")  # type: ignore[arg-type]  # the error itself


@pytest.mark.parametrize("place", [0, 20, 40, 500, -1])
def test_damage_is_an_error(place: int) -> None:
    damaged = bytearray(running().snapshot())
    damaged[place] ^= 4
    with pytest.raises(WhorlError, match="damaged") as caught:
        Engine.restore(bytes(damaged))
    assert caught.value.code == "snapshot.damaged"
    assert caught.value.hint


def test_another_format_is_another_version() -> None:
    other = bytearray(running().snapshot())
    other[8] = 99
    with pytest.raises(WhorlError) as caught:
        Engine.restore(bytes(other))
    assert caught.value.code == "snapshot.version"


def test_one_stream_ends_by_itself() -> None:
    engine = Engine()
    text = (
        "PREFIX : <http://ex/> SELECT ?s FROM NAMED WINDOW :w ON :{} [RANGE 10s] WHERE {{ WINDOW :w {{ ?s :p ?o }} }}"
    )
    ended, going = (engine.register(text.format(name)) for name in ("s", "s2"))
    for stream in (S, "http://ex/s2"):
        engine.push(stream, 1_000, [("http://ex/a", "http://ex/p", 1)])
    engine.close_stream(S)
    assert (ended.rows(), going.rows()) == ([{"s": "http://ex/a"}], [])
    assert engine.push(S, 2_000, [("http://ex/b", "http://ex/p", 1)]).late == 1
    assert engine.push("http://ex/s2", 2_000, [("http://ex/b", "http://ex/p", 1)]).accepted == 1
    with pytest.raises(UnknownStreamError):
        engine.close_stream("http://ex/none")
