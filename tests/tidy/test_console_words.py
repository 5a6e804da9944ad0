"""The editor of the console highlights and offers the words of the parser: all of them, and none that it refuses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from whorl import Engine, WhorlError

ROOT = Path(__file__).parents[2]
EDITOR = (ROOT / "server/web/src/editor/words.ts").read_text()
PARSER = ROOT / "engine-rs/src/parse"
# The parser knows these words to say that it does not support them, or reads them as another word that is offered.
REFUSED = {"SERVICE"}
WINDOW = "PREFIX : <http://ex.org/> SELECT ?a FROM NAMED WINDOW :w ON :s [{}] WHERE {{ WINDOW :w {{ ?a :p ?b }} }}"
C_SPARQL = "REGISTER {} q COMPUTED EVERY 1s AS SELECT ?a FROM STREAM <http://ex.org/s> [{}] WHERE {{ ?a ?p ?b }}"
AGGREGATE = "PREFIX : <http://ex.org/> SELECT ({} AS ?x) {{ STREAM :s [RANGE 10s] {{ ?a :p ?b }} }}"
EXAMPLES = [
    *(WINDOW.format(f"RANGE 10s STEP 5s {tail}") for tail in ("REPORT CLOSE NONEMPTY TICK TIME", "SEMANTICS SET")),
    WINDOW.format("RANGE 10s SLIDE 5s REPORT ON_WINDOW_CLOSE NON_EMPTY_CONTENT TICK TIME_DRIVEN SEMANTICS BAG"),
    WINDOW.format("RANGE 10s TUMBLING REPORT CHANGE PERIODIC 5s"),
    WINDOW.format("ELEMENTS 5 REPORT ON_CONTENT_CHANGE TICK TUPLE_DRIVEN"),
    WINDOW.format("ALL REPORT CHANGE TICK TUPLE"),
    WINDOW.format("NOW"),
    WINDOW.format("FROM NOW-20s TO NOW-10s STEP 5s"),
    C_SPARQL.format("QUERY", "TRIPLES 10"),
    *(C_SPARQL.format(word, "RANGE 10s STEP 5s") for word in ("STREAM", "ISTREAM", "DSTREAM", "RSTREAM", "CHANGES")),
    *(AGGREGATE.format(f"{name}(?b)") for name in ("AVERAGE", "MEDIAN", "STDDEV", "VARIANCE")),
    AGGREGATE.format("PERCENTILE(?b, 0.9)"),
]


def offered(name: str) -> set[str]:
    """A list of the editor."""
    found = re.search(rf'export const {name} = list\([`"]([^`"]*)[`"]\)', EDITOR)
    assert found is not None, name
    return set(found[1].split())


def known(file: str, name: str) -> set[str]:
    """A list of the parser."""
    found = re.search(rf"const {name}: \[[^\]]*\] =\s*\[(.*?)\];", (PARSER / file).read_text(), re.DOTALL)
    assert found is not None, name
    return set(re.findall(r'"([A-Z_0-9]+)"', found[1]))


def test_functions_are_those_of_the_parser() -> None:
    assert offered("FUNCTIONS") == known("calls.rs", "FUNCTIONS")


def test_aggregates_are_those_of_the_parser() -> None:
    extension = re.search(r"AGGREGATES\.into_iter\(\)\.chain\(\[(.*?)\]\)", (PARSER / "calls.rs").read_text())
    assert extension is not None
    assert offered("AGGREGATES") == known("calls.rs", "AGGREGATES") | set(re.findall(r'"(\w+)"', extension[1]))


def test_every_keyword_of_the_parser_is_highlighted() -> None:
    words = known("advice.rs", "KEYWORDS") | known("window.rs", "TAIL_WORDS") | known("window.rs", "REPORT_WORDS")
    words |= known("clause.rs", "R2S_WORDS")
    assert words - REFUSED <= offered("KEYWORDS") | offered("STREAM_WORDS") | offered("AGGREGATES")


def test_every_plain_keyword_that_is_offered_is_one_of_the_parser() -> None:
    assert offered("KEYWORDS") <= known("advice.rs", "KEYWORDS")


@pytest.mark.parametrize("word", sorted(offered("STREAM_WORDS")))
def test_the_engine_accepts_every_word_of_streams_that_is_offered(word: str) -> None:
    (text, *_) = [text for text in EXAMPLES if re.search(rf"\b{word}\b", text)]
    Engine().validate(text)


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_are_valid(text: str) -> None:
    Engine().validate(text)


def test_words_of_other_engines_are_not_offered() -> None:
    for word in ("EMIT", "LATENESS", "PAST", "FUTURE"):
        assert word not in offered("KEYWORDS") | offered("STREAM_WORDS")
        with pytest.raises(WhorlError):
            Engine().validate(WINDOW.format(f"RANGE 10s {word} 1s"))
