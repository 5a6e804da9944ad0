"""Hostile queries: deep, wide, endless, costly, malformed, or pointing elsewhere.

Each is a name and a text of at most 64 KiB, which is the limit of the server, and some just above it. None may cost
others anything, whatever way it comes in by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

STREAM = "http://ex.org/hostile"
_HEAD = "PREFIX : <http://ex.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
_DEPTHS = (65, 600, 5000)


def windowed(pattern: str, *, select: str = "*", window: str = "RANGE 10s STEP 10s", tail: str = "") -> str:
    """A continuous query with one window over the stream of all hostile queries."""
    named = f"FROM NAMED WINDOW :w ON <{STREAM}> [{window}]"
    return f"{_HEAD}SELECT {select} {named} WHERE {{ WINDOW :w {{ {pattern} }} }} {tail}"


def filtered(expression: str) -> str:
    return windowed(f"?s :p ?o FILTER({expression})")


def bound(expression: str) -> str:
    return windowed(f"?s :p ?o BIND({expression} AS ?x)")


def queries() -> dict[str, str]:
    """All of them, by name."""
    found = [
        *_deep(),
        *_wide(),
        *_unfolding(),
        *_costly(),
        *_growing(),
        *_patterns(),
        *_windows(),
        *_outside(),
        *_values(),
        *_broken(),
    ]
    assert len(dict(found)) == len(found)
    return dict(found)


def updates() -> dict[str, str]:
    """Updates of static data, by name."""
    return dict(_updates())


def _deep() -> Iterator[tuple[str, str]]:
    shapes: dict[str, Callable[[int], str]] = {
        "groups": lambda n: windowed("{" * n + "?s :p ?o" + "}" * n),
        "parentheses": lambda n: filtered("(" * n + "?o" + ")" * n),
        "negations": lambda n: filtered("!" * n + "?o"),
        "minus signs": lambda n: filtered("-" * n + "1 = ?o"),
        "optionals": lambda n: windowed("OPTIONAL { " * n + "?s :p ?o" + " }" * n),
        "exists": lambda n: windowed("?s :p ?o " + "FILTER EXISTS { ?s :p ?o " * n + "}" * n),
        "sub-selects": lambda n: windowed("{ SELECT * { " * n + "?s :p ?o" + " } }" * n),
        "minus groups": lambda n: windowed("?s :p ?o " + "MINUS { ?s :p ?o " * n + "}" * n),
        "collections": lambda n: windowed("?s :p " + "(" * n + "1" + ")" * n),
        "blank nodes": lambda n: windowed("?s :p " + "[ :p " * n + "1" + " ]" * n),
        "triple terms": lambda n: windowed("?s :p " + "<<( ?s :p " * n + "1" + " )>>" * n),
        "paths": lambda n: windowed("?s " + "(" * n + ":p" + ")" * n + " ?o"),
        "inverse paths": lambda n: windowed("?s " + "^" * n + ":p ?o"),
        "conditions": lambda n: bound("IF(?o, " * n + "1" + ", 2)" * n),
        "calls": lambda n: bound("STR(" * n + "?o" + ")" * n),
        "graphs": lambda n: windowed("GRAPH ?g { " * n + "?s :p ?o" + " }" * n),
    }
    for name, shape in shapes.items():
        for depth in _DEPTHS:
            yield f"{depth} {name}", shape(depth)[:66_000]


def _wide() -> Iterator[tuple[str, str]]:
    yield "a long sum", bound("+".join(["1"] * 5000))
    yield "a long conjunction", filtered(" && ".join(["?o > 1"] * 3000))
    yield "a long list", filtered(f"?o IN ({','.join(map(str, range(8000)))})")
    yield "many unions", windowed(" UNION ".join(["{ ?s :p ?o }"] * 1700))
    yield "many alternatives", windowed("?s " + "|".join(f":p{n}" for n in range(5000)) + " ?o")
    yield "a long negated path", windowed("?s !(" + "|".join(f":p{n}" for n in range(5000)) + ") ?o")
    yield "a long path", windowed("?s " + "/".join([":p"] * 8000) + " ?o")
    yield "many prefixes", "".join(f"PREFIX p{n}: <urn:{n}> " for n in range(2500)) + windowed("?s :p ?o")
    yield "many variables", windowed(" . ".join(f"?s :p ?v{n}" for n in range(2000)))
    yield "many triples", windowed(" . ".join(["?s :p ?o"] * 4000))
    yield "many columns", windowed("?s :p ?o", select=" ".join(f"(?o + {n} AS ?x{n})" for n in range(1500)))
    yield "many orders", windowed("?s :p ?o", tail="ORDER BY " + " ".join(["?o"] * 5000))
    yield "many groups", windowed("?s :p ?o", select="?o", tail="GROUP BY " + " ".join(["?o"] * 5000))
    yield "many values", windowed(f"VALUES ?o {{ {' '.join(map(str, range(9000)))} }} ?s :p ?o")
    yield "many columns of values", windowed(f"VALUES ({' '.join(f'?v{n}' for n in range(4000))}) {{ }} ?s :p ?o")
    yield "many bindings", windowed("?s :p ?o " + " ".join(f"BIND(?o + {n} AS ?x{n})" for n in range(1500)))
    yield "many filters", windowed("?s :p ?o " + "FILTER(?o > 1) " * 3000)
    yield "many optionals", windowed("?s :p ?o " + "".join(f"OPTIONAL {{ ?s :p{n} ?x{n} }} " for n in range(1000)))
    yield "many aggregates", windowed("?s :p ?o", select=" ".join(f"(SUM(?o + {n}) AS ?x{n})" for n in range(1000)))
    yield "many subjects of one variable", windowed(" ; ".join(["?s :p ?o", *[":p ?o"] * 6000]))
    yield "a long name", windowed(f"?{'v' * 50_000} :p ?o")
    yield "a long IRI", windowed(f"?s <urn:{'x' * 60_000}> ?o")
    yield "a long string", filtered(f"?o = '{'x' * 60_000}'")
    yield "a long comment", windowed("?s :p ?o") + "#" + "x" * 60_000
    yield "spaces", windowed("?s :p ?o" + " " * 60_000)
    yield "beyond the limit", windowed("?s :p ?o" + " " * 66_000)


def _unfolding() -> Iterator[tuple[str, str]]:
    """Names that are short in the text and long as IRIs, and texts that a parser may read again and again."""
    prefix, base = f"PREFIX x: <urn:{'n' * 30_000}> ", f"BASE <http://ex.org/{'n' * 30_000}/> "
    yield "a namespace of many names", prefix + windowed("x: x: x: . " * 2500)
    yield "a namespace of a list", prefix + windowed(f"?s x: {','.join(['x:'] * 9000)}")
    yield "a base of many names", base + windowed("<> <> <> . " * 2500)
    yield (
        "a base of many prefixes",
        base + "".join(f"PREFIX p{n}: <{n}> " for n in range(1400)) + windowed("?s :p ?o"),
    )
    yield "names that touch", "PREFIX x: <urn:x> " + windowed(f"?s x: {','.join(['x:'] * 20_000)}")
    yield "dates that touch", windowed(f"?s :p {'1-' * 20_000}:x")
    yield "IRIs that look like comparisons", windowed("?s <urn:a?b=c&&d> ?o . " * 2500)
    yield "comparisons that look like IRIs", filtered(" || ".join(["?o<?a&&?b>?o"] * 250))
    yield "many columns of a star", windowed(" . ".join(f"?s :p ?v{n}" for n in range(4000)))


def _costly() -> Iterator[tuple[str, str]]:
    for n in range(2, 7):
        yield f"a product of {n}", windowed(" . ".join(f"?s{i} :p ?o{i}" for i in range(n)))
        yield (
            f"a hidden product of {n}",
            windowed(" . ".join(f"?s{i} ?p{i} ?o{i}" for i in range(n)) + f" FILTER(?o0 + ?o{n - 1} > 5)"),
        )
    yield (
        "a product of values",
        windowed(" ".join(f"VALUES ?v{n} {{ {' '.join(map(str, range(200)))} }}" for n in range(5)) + " ?s :p ?o"),
    )
    yield "a triangle", windowed("?a :q ?b . ?b :q ?c . ?c :q ?a")
    yield "a clique of five", windowed(" . ".join(f"?v{i} :q ?v{j}" for i in range(5) for j in range(i)))
    yield "closures with open ends", windowed("?s :q* ?o . ?o :q* ?x")
    yield "closures of closures", windowed("?s (:q*)* ?o")
    yield "closures of alternatives", windowed("?s (:q|:p|^:q)* ?o")
    yield "closures of anything", windowed("?s !(:none)* ?o")
    yield "a closure to itself", windowed("?s (:q/:q)+ ?s")
    yield "unions of products", windowed(" UNION ".join(["{ ?a :p ?b . ?c :p ?d }"] * 50))
    yield "optional products", windowed("?s :p ?o OPTIONAL { ?a :p ?b OPTIONAL { ?c :p ?d } }")
    yield "a difference of all", windowed("?s ?p ?o MINUS { ?a ?b ?c }")
    yield "not exists of all", windowed("?s ?p ?o FILTER NOT EXISTS { ?a ?b ?c FILTER(?c > ?o) }")
    yield "distinct of a product", windowed("?a :p ?b . ?c :p ?d", select="DISTINCT ?b ?d")
    yield "order of a product", windowed("?a :p ?b . ?c :p ?d", tail="ORDER BY ?b ?d")
    yield "a group for each row", windowed("?s ?p ?o", select="?s ?p ?o (COUNT(*) AS ?n)", tail="GROUP BY ?s ?p ?o")
    yield "all concatenated", windowed("?s ?p ?o . ?a :p ?b", select="(GROUP_CONCAT(?o) AS ?x)")
    yield "a deep offset", windowed("?s ?p ?o", tail="ORDER BY ?o LIMIT 10 OFFSET 9223372036854775807")


def _growing() -> Iterator[tuple[str, str]]:
    def doubled(call: str, times: int) -> str:
        steps = "".join(f"BIND({call.format(n=n)} AS ?x{n + 1}) " for n in range(times))
        return windowed(f"?s :p ?o BIND('xxxxxxxxxxxxxxxx' AS ?x0) {steps}")

    yield "strings doubled 30 times", doubled("CONCAT(?x{n}, ?x{n})", 30)
    yield "strings doubled 60 times", doubled("CONCAT(?x{n}, ?x{n})", 60)
    yield "strings replaced 30 times", doubled("REPLACE(?x{n}, 'x', 'xxxx')", 30)
    yield "strings replaced by groups", doubled("REPLACE(?x{n}, '(.*)', '$1$1$1$1')", 30)
    yield "strings encoded 20 times", doubled("ENCODE_FOR_URI(CONCAT(?x{n}, '%'))", 20)
    yield "strings between characters", doubled("REPLACE(?x{n}, '', '----')", 20)
    yield "names that grow", doubled("IRI(CONCAT('urn:', STR(?x{n}), STR(?x{n})))", 30)
    yield "tags that grow", bound("STRLANG('x', CONCAT('en', '-x'))")
    yield "concatenation of one thousand", bound(f"CONCAT({','.join(['STR(?s)'] * 1000)})")
    yield "a sum that overflows", doubled("?x{n} * ?x{n}", 5)
    yield (
        "a square of squares",
        windowed(
            "?s :p ?o BIND(1000000007 AS ?x0) " + "".join(f"BIND(?x{n} * ?x{n} AS ?x{n + 1}) " for n in range(40))
        ),
    )
    yield "hashes of hashes", doubled("SHA512(?x{n})", 100)


def _patterns() -> Iterator[tuple[str, str]]:
    expressions = {
        "nested repetitions": "((a{1,100}){1,100}){1,100}",
        "a large repetition": "a{100000}",
        "repetitions side by side": "(a|b)*a(a|b){3000}c",
        "the classic": "(a+)+$",
        "the other classic": "(a|aa)+$",
        "many alternatives": "|".join(f"a{n}" for n in range(5000)),
        "large classes": "[\\\\p{L}\\\\p{N}]{200}",
        "a back reference": "(a)\\\\1",
        "a look ahead": "(?=a)b",
        "unclosed": "(((((",
        "an unknown class": "\\\\p{Nothing}",
        "an empty range": "[z-a]",
        "anything, often": ".*.*.*.*.*.*.*.*x",
        "words of words": "(\\\\w+\\\\s?)*$",
    }
    for name, text in expressions.items():
        yield f"expression: {name}", filtered(f"REGEX(STR(?s), '{text}')")
        yield f"replaced: {name}", bound(f"REPLACE(STR(?s), '{text}', '$0$0')")
    yield "an expression of the data", filtered("REGEX(STR(?s), STR(?o))")
    yield "expressions of the data, growing", filtered("REGEX(STR(?s), CONCAT('(', STR(?s), ')*'))")
    yield "unknown flags", filtered("REGEX(STR(?s), 'a', 'zzz')")


def _windows() -> Iterator[tuple[str, str]]:
    for text in (
        "RANGE 0s", "RANGE -5s", "RANGE 10s STEP 0s", "RANGE 10s STEP -1s", "RANGE 1ms STEP 1ms", "RANGE 10 STEP 5",
        "RANGE 1d STEP 1ms", "RANGE 99999999999999999999h", "RANGE 9223372036854775807ms", "RANGE P1Y",
        "RANGE PT0.0001S", "RANGE 1ms STEP 1d", "ELEMENTS 0", "ELEMENTS 99999999999", "TRIPLES 0",
        "TRIPLES 99999999999999999999", "RANGE", "ALL", "NOW", "RANGE 10s @ :p", "RANGE 10s STEP 1ms @ :p",
    ):  # fmt: skip
        yield f"window: {text}", windowed("?s :p ?o", window=text)
    many = " ".join(f"FROM NAMED WINDOW :w{n} ON <{STREAM}> [RANGE {n + 1}s STEP 1s]" for n in range(900))
    yield "nine hundred windows", f"{_HEAD}SELECT * {many} WHERE {{ WINDOW :w0 {{ ?s ?p ?o }} }}"
    twice = f"FROM NAMED WINDOW :w ON <{STREAM}> [RANGE 1s]"
    yield "one name twice", f"{_HEAD}SELECT * {twice} {twice} WHERE {{ WINDOW :w {{ ?s ?p ?o }} }}"
    yield "an unknown window", f"{_HEAD}SELECT * {twice} WHERE {{ WINDOW :other {{ ?s ?p ?o }} }}"
    yield "an unknown stream", windowed("?s :p ?o").replace(STREAM, "http://ex.org/none")
    yield (
        "a window of its own output",
        f"{_HEAD}REGISTER RSTREAM <{STREAM}/out> AS CONSTRUCT {{ ?s :p ?o }} "
        + (f"FROM NAMED WINDOW :w ON <{STREAM}/out> [RANGE 1s] WHERE {{ WINDOW :w {{ ?s :p ?o }} }}"),
    )
    yield (
        "output into a foreign stream",
        f"{_HEAD}REGISTER RSTREAM <http://ex.org/canary> AS CONSTRUCT {{ ?s :p ?o }} "
        + (f"{twice} WHERE {{ WINDOW :w {{ ?s :p ?o }} }}"),
    )


def _outside() -> Iterator[tuple[str, str]]:
    yield "a service", windowed("SERVICE <http://127.0.0.1:9/> { ?s ?p ?o }")
    yield "a silent service", windowed("SERVICE SILENT <http://127.0.0.1:9/> { ?s ?p ?o }")
    yield "any service", windowed("?s :p ?x SERVICE ?x { ?s ?p ?o }")
    yield "a remote graph", f"{_HEAD}SELECT * FROM <http://127.0.0.1:9/data> WHERE {{ ?s ?p ?o }}"
    yield "a file", f"{_HEAD}SELECT * FROM <file:///etc/passwd> WHERE {{ ?s ?p ?o }}"
    yield "an unknown function", filtered("<http://127.0.0.1:9/f>(?o)")
    yield "an update in a query's place", f"{_HEAD}INSERT DATA {{ :a :p 1 }}"


def _values() -> Iterator[tuple[str, str]]:
    for text in (
        "1e400", "-1e400", "1" * 5000, "0." + "1" * 5000, "1/0", "1.0/0.0", "9223372036854775807 + 1",
        "-9223372036854775808 - 1", "xsd:integer('99999999999999999999999')", "'NaN'^^xsd:double", "'INF'^^xsd:double",
        "xsd:dateTime('999999999-01-01T00:00:00Z')", "xsd:dateTime('-9999-01-01T00:00:00Z')",
        "xsd:dateTime('2024-02-30')",
        "xsd:dateTime('2024-01-01T24:00:00Z') + xsd:duration('P9999999999Y')",
        "SUBSTR('abc', -9223372036854775807, 9e99)",
        "SUBSTR('abc', 'NaN'^^xsd:double)", "STRLEN(STR(?s)) * 9e307", "ROUND(1e308) * 10",
        "STRDT('x', IRI('not an IRI'))",
        "IRI('http://[bad')", "BNODE('x')", "RAND() / 0", "YEAR(NOW()) * 1e300", "LANG(STRLANG('x', 'not a tag'))",
    ):  # fmt: skip
        yield f"value: {text[:40]}", bound(text)


def _broken() -> Iterator[tuple[str, str]]:
    good = windowed("?s :p ?o FILTER(REGEX(STR(?s), 'a\\\\.b'))")
    for cut in range(5, len(good), 17):
        yield f"cut at {cut}", good[:cut]
    yield "nothing", ""
    yield "one brace", "{"
    yield "a zero", good.replace(":p", ":p\x00")
    yield "a mark of byte order", "\ufeff" + good
    yield "right to left", good.replace(":p", ":\u202ep")
    yield "an escaped surrogate", filtered("?o = '\\uD800'")
    yield "an escape too far", filtered("?o = '\\U0011FFFF'")
    yield "an open string", good + " '"
    yield "an open long string", filtered("?o = '''" + "x" * 1000)
    yield "an open IRI", windowed("?s <urn:x ?o")
    yield "only keywords", "SELECT WHERE FROM WINDOW ON REGISTER AS " * 500
    yield "only punctuation", "}{)(][.;,<>?!" * 4000
    yield "noise", "".join(chr(33 + n * 7919 % 94) for n in range(60_000))


def _updates() -> Iterator[tuple[str, str]]:
    yield "a product inserted", f"{_HEAD}INSERT {{ ?a :x ?d }} WHERE {{ ?a :p ?b . ?c :p ?d }}"
    yield "everything deleted by a product", f"{_HEAD}DELETE {{ ?a :none ?d }} WHERE {{ ?a ?p ?b . ?c ?q ?d }}"
    yield "many inserted", f"{_HEAD}INSERT DATA {{ {' '.join(f':s{n} :x {n} .' for n in range(3500))} }}"
    yield "a remote document", f"{_HEAD}LOAD <http://127.0.0.1:9/data> INTO GRAPH :g"
    yield "a silent remote document", f"{_HEAD}LOAD SILENT <http://127.0.0.1:9/data>"
    yield "a graph copied to itself", f"{_HEAD}COPY :g TO :g"
    yield "many operations", " ; ".join([f"{_HEAD}CREATE SILENT GRAPH :g"] * 400)
    yield (
        "strings that grow in an update",
        f"{_HEAD}INSERT {{ ?s :x ?y }} WHERE {{ ?s :p ?o "
        + (
            "BIND('xxxxxxxx' AS ?x0) "
            + "".join(f"BIND(CONCAT(?x{n}, ?x{n}) AS ?x{n + 1}) " for n in range(30))
            + "BIND(?x30 AS ?y) }"
        ),
    )
    yield "a closure inserted", f"{_HEAD}INSERT {{ ?a :x ?b }} WHERE {{ ?a (:q|:p|^:q)* ?b }}"
    yield (
        "a service in an update",
        f"{_HEAD}INSERT {{ ?s :x ?o }} WHERE {{ SERVICE <http://127.0.0.1:9/> {{ ?s ?p ?o }} }}",
    )
    many_names = f"PREFIX x: <urn:{'n' * 30_000}> INSERT DATA {{ {'x: x: x: . ' * 2500} }}"
    yield "a namespace of many names in an update", many_names
    yield (
        "a base of many operations",
        f"BASE <http://ex.org/{'n' * 30_000}/> CLEAR SILENT GRAPH <a> {'; CLEAR SILENT GRAPH <a>' * 1200}",
    )
    prefixes = "".join(f"PREFIX p{n}:<urn:{n}>" for n in range(1600))
    yield "many prefixes of many operations", f"{prefixes} CLEAR ALL {';CLEAR ALL' * 2500}"
    yield "names that touch in an update", f"PREFIX x: <urn:x> INSERT DATA {{ x: x: {','.join(['x:'] * 20_000)} }}"
    triples = " . ".join(f"?a :x{n} ?b" for n in range(1000))
    yield "many triples of each solution", f"{_HEAD}INSERT {{ {triples} }} WHERE {{ ?a :p ?b }}"
    yield "a graph copied again and again", " ; ".join(f"COPY DEFAULT TO <urn:g{n}>" for n in range(1500))
    yield "a broken update", f"{_HEAD}INSERT DATA {{ :a :b"
    yield "deep groups in an update", f"{_HEAD}DELETE WHERE {{ " + "{" * 600 + "?s :p ?o" + "}" * 600 + " }"
