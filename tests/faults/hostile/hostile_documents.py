"""Hostile documents: deep, expanding, endless, malformed, truncated, or with strange times.

Each is a name, a media type and bytes; every RDF format, lines of JSON, Arrow, and gzip around some of them.
"""

from __future__ import annotations

import gzip
import io
import json
import random
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

TURTLE, TRIPLES, QUADS, TRIG = "text/turtle", "application/n-triples", "application/n-quads", "application/trig"
JSON_LD, NDJSON, ARROW = "application/ld+json", "application/x-ndjson", "application/vnd.apache.arrow.stream"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_PROV = "<http://www.w3.org/ns/prov#generatedAtTime>"
_DEPTHS = (65, 5000, 50_000)
_CUTS = 12
_FLIPS = 24


class Document(NamedTuple):
    """A body as it is sent."""

    name: str
    media_type: str
    body: bytes
    is_zipped: bool = False


def documents() -> list[Document]:
    """All of them."""
    found = [*_turtle(), *_lines(), *_trig(), *_json_ld(), *_json_lines(), *_arrow(), *_times(), *_cut(), *_zipped()]
    assert len({one.name for one in found}) == len(found)
    return found


def _turtle() -> Iterator[Document]:
    shapes = {
        "blank nodes": ("[ <urn:p> ", "1", " ]"),
        "collections": ("( ", "1", " )"),
        "triple terms": ("<<( <urn:a> <urn:p> ", "1", " )>>"),
        "reified triples": ("<< <urn:a> <urn:p> ", "1", " >>"),
    }
    for name, (opens, inner, closes) in shapes.items():
        for depth in _DEPTHS:
            text = f"<urn:a> <urn:p> {opens * depth}{inner}{closes * depth} ."
            yield Document(f"turtle: {depth} {name}", TURTLE, text.encode())
    long_prefix = f"@prefix x: <urn:{'y' * 10_000}> . "
    yield Document("turtle: a prefix that expands", TURTLE, (long_prefix + "x:a x:b x:c . " * 15_000).encode())
    yield Document(
        "turtle: a base that expands", TURTLE, f"@base <urn:{'y' * 10_000}/> . {'<a> <b> <c> . ' * 9000}".encode()
    )
    yield Document("turtle: prefixes", TURTLE, "".join(f"@prefix p{n}: <urn:{n}> . " for n in range(60_000)).encode())
    yield Document("turtle: a long literal", TURTLE, b'<urn:a> <urn:p> "' + b"x" * 4_000_000 + b'" .')
    yield Document("turtle: a long IRI", TURTLE, b"<urn:" + b"x" * 1_000_000 + b"> <urn:p> 1 .")
    yield Document("turtle: new blank nodes", TURTLE, b"[] <urn:p> [] . " * 60_000)
    yield Document("turtle: a long list", TURTLE, b"<urn:a> <urn:p> ( " + b"1 " * 60_000 + b") .")
    yield Document("turtle: objects", TURTLE, b"<urn:a> <urn:p> 1 " + b", 1 " * 200_000 + b".")
    yield Document("turtle: a long tag", TURTLE, b'<urn:a> <urn:p> "x"@en' + b"-abcdefgh" * 50_000 + b" .")
    for name, body in {
        "not UTF-8": b"<urn:a> <urn:p> '\xff\xfe' .",
        "half a character": b"<urn:a> <urn:p> '\xe2\x82",
        "an overlong character": b"<urn:a> <urn:p> '\xc0\xaf' .",
        "a surrogate in UTF-8": b"<urn:a> <urn:p> '\xed\xa0\x80' .",
        "an escaped surrogate": b"<urn:a> <urn:p> '\\uD800' .",
        "an escape too far": b"<urn:a> <urn:p> '\\U0011FFFF' .",
        "a zero": b"<urn:a> <urn:p> '\x00' .",
        "a zero in an IRI": b"<urn:\x00> <urn:p> 1 .",
        "a mark of byte order": b"\xef\xbb\xbf<urn:a> <urn:p> 1 .",
        "right to left": "<urn:\u202ea> <urn:p> '\u202e' .".encode(),
        "a relative IRI": b"<a> <b> <c> .",
        "an unknown prefix": b"x:a x:b x:c .",
        "an open string": b"<urn:a> <urn:p> '''" + b"x" * 100_000,
        "an open IRI": b"<urn:" + b"a" * 100_000,
        "one dot": b".",
        "nothing": b"",
        "spaces": b" " * 1_000_000,
        "a comment": b"#" + b"x" * 1_000_000,
        "wide characters": b"<urn:a> <urn:p> '" + "\U0010ffff".encode() * 100_000 + b"' .",
        "strange numbers": f"<urn:a> <urn:p> 1e400, -1e400, {'9' * 5000}, 0.{'3' * 5000}, +00000 .".encode(),
        "strange values": " ".join(
            f'<urn:a> <urn:p> "{text}"^^<{_XSD}{kind}> .'
            for text, kind in [
                ("NaN", "double"),
                ("INF", "float"),
                ("x", "integer"),
                ("24:00:00", "time"),
                ("", "date"),
            ]
        ).encode(),
    }.items():
        yield Document(f"turtle: {name}", TURTLE, body)


def _lines() -> Iterator[Document]:
    for media_type, graph in ((TRIPLES, ""), (QUADS, " <urn:g>")):
        short = media_type.rpartition("-")[2]
        yield Document(f"{short}: a long literal", media_type, f'<urn:a> <urn:p> "{"x" * 3_000_000}"{graph} .'.encode())
        yield Document(f"{short}: one line", media_type, (f"<urn:a> <urn:p> <urn:b>{graph} . " * 20_000).encode())
        yield Document(
            f"{short}: new terms",
            media_type,
            "".join(f"<urn:{n}> <urn:p{n}> <urn:o{n}>{graph} .\n" for n in range(40_000)).encode(),
        )
        yield Document(
            f"{short}: one triple often", media_type, f"<urn:a> <urn:p> <urn:b>{graph} .\n".encode() * 100_000
        )
        yield Document(
            f"{short}: deep",
            media_type,
            f"<urn:a> <urn:p> {'<<( <urn:a> <urn:p> ' * 5000}<urn:b>{' )>>' * 5000}{graph} .".encode(),
        )
        yield Document(f"{short}: only line ends", media_type, b"\n" * 1_000_000)
        yield Document(f"{short}: carriage returns", media_type, f"<urn:a> <urn:p> <urn:b>{graph} .\r".encode() * 1000)
        yield Document(f"{short}: not UTF-8", media_type, b'<urn:a> <urn:p> "' + b"\xff" + f'"{graph} .'.encode())
        yield Document(
            f"{short}: escapes", media_type, f'<urn:a> <urn:p> "{chr(92)}u0000{chr(92)}uD800"{graph} .'.encode()
        )
        yield Document(f"{short}: a literal subject", media_type, f'"a" <urn:p> "b"{graph} .'.encode())
        yield Document(f"{short}: noise", media_type, random.Random(1).randbytes(100_000))


def _trig() -> Iterator[Document]:
    yield Document(
        "trig: graphs", TRIG, "".join(f"<urn:g{n}> {{ <urn:a> <urn:p> {n} }} " for n in range(20_000)).encode()
    )
    yield Document("trig: an open graph", TRIG, b"<urn:g> { <urn:a> <urn:p> 1 . " * 5000)
    yield Document("trig: graphs in graphs", TRIG, b"<urn:g> { " * 5000 + b"}" * 5000)
    yield Document(
        "trig: a prefix that expands",
        TRIG,
        (f"@prefix x: <urn:{'y' * 10_000}> . x:g {{ " + "x:a x:b x:c . " * 9000 + "}").encode(),
    )
    yield Document("trig: a graph without a name", TRIG, b"{ <urn:a> <urn:p> 1 } " * 1000)
    yield Document("trig: a blank graph", TRIG, b"_:g { <urn:a> <urn:p> 1 }")


def _json_ld() -> Iterator[Document]:
    def of(name: str, value: object) -> Document:
        return Document(f"json-ld: {name}", JSON_LD, (value if isinstance(value, str) else json.dumps(value)).encode())

    for depth in _DEPTHS:
        yield of(f"{depth} lists", "[" * depth + "]" * depth)
        yield of(f"{depth} nodes", '{"urn:p":' * depth + "1" + "}" * depth)
        yield of(f"{depth} graphs", '{"@graph":' * depth + "[]" + "}" * depth)
    context = {"@vocab": "urn:" + "y" * 10_000}
    yield of("a vocabulary that expands", {"@context": context, "@graph": [{f"p{n}": f"{n}"} for n in range(9000)]})
    yield of(
        "a base that expands",
        {
            "@context": {"@base": "urn:" + "y" * 9000 + "/"},
            "@graph": [{"@id": f"{n}", "urn:p": 1} for n in range(9000)],
        },
    )
    yield of(
        "prefixes that expand",
        {"@context": {"a": "urn:" + "y" * 9000 + "/"}, "@graph": [{"@id": f"a:{n}", "a:p": 1} for n in range(9000)]},
    )
    yield of(
        "a language that expands",
        {"@context": {"@language": "en" + "-abcdefgh" * 1000}, "@graph": [{"urn:p": f"{n}"} for n in range(9000)]},
    )
    yield of(
        "terms of terms that expand",
        {"@context": {"a": "urn:" + "y" * 9000, "b": "a:x", "c": "b:y"}, "@graph": [{"c": n} for n in range(9000)]},
    )
    yield of("a remote context", {"@context": "http://127.0.0.1:9/context", "@id": "urn:a"})
    yield of("an imported context", {"@context": {"@version": 1.1, "@import": "http://127.0.0.1:9/c"}, "@id": "urn:a"})
    yield of("a context that names itself", {"@context": {"a": "b:x", "b": "a:y"}, "a": 1})
    yield of("contexts in contexts", {"@context": [[[[{"@vocab": "urn:"}]]]] * 1000, "p": 1})
    yield of(
        "scoped contexts",
        {
            "@context": {"p": {"@id": "urn:p", "@context": {"p": {"@id": "urn:q", "@context": {}}}}},
            "p": {"p": {"p": 1}},
        },
    )
    yield of("terms", {"@context": {f"t{n}": f"urn:{n}" for n in range(50_000)}, "t1": 1})
    yield of("reverses", {"@id": "urn:a", "@reverse": {"urn:p": [{"@id": f"urn:{n}"} for n in range(20_000)]}})
    yield of("a list of lists", {"urn:p": {"@list": [{"@list": [1] * 100}] * 500}})
    yield of("nested nests", {"@context": {"n": "@nest"}, "n": {"n": {"n": {"urn:p": 1}}}})
    yield of("literals of JSON", {"urn:p": {"@value": {"a": [1] * 10_000}, "@type": "@json"}})
    yield of("strange numbers", '{"urn:p": [1e400, -1e400, 1E+9999, 0.1e-400, 123456789012345678901234567890]}')
    yield of("one key twice", '{"@id": "urn:a", "@id": "urn:b", "urn:p": 1, "urn:p": 2}')
    yield of("an unknown keyword", {"@id": "urn:a", "@unknown": 1, "urn:p": 1})
    yield of("wrong types", {"@id": 5, "@type": {"x": 1}, "@graph": "x", "@context": 7})
    yield of("a key without end", {"urn:" + "x" * 1_000_000: 1})
    yield of("an escaped surrogate", '{"urn:p": "\\ud800"}')
    yield of("not JSON", "{'urn:p': 1}")
    yield of("half of it", '{"@id": "urn:a", "urn:p": [')
    yield of("a number", "5")
    yield of("nothing", "")


def _json_lines() -> Iterator[Document]:
    def of(name: str, body: str) -> Document:
        return Document(f"lines: {name}", NDJSON, body.encode())

    yield of("a long line", json.dumps({"t": 1, "data": f"<urn:a> <urn:p> '{'x' * 3_000_000}' ."}))
    yield of("empty lines", "\n" * 500_000)
    yield of("watermarks", "".join(f'{{"watermark": {n}}}\n' for n in range(5000)))
    yield of("watermarks backwards", "".join(f'{{"watermark": {n}}}\n' for n in range(5000, 0, -100)))
    yield of("a watermark far ahead", '{"watermark": 253402300799999}\n')
    yield of("a watermark beyond", '{"watermark": 1e300}\n')
    yield of("unknown members", '{"t": 1, "data": "", "more": 1}\n')
    yield of("data and event", '{"t": 1, "data": "", "event": {}}\n')
    yield of("deep", '{"t": 1, "event": ' + "[" * 5000 + "]" * 5000 + "}\n")
    yield of(
        "an expanding prefix",
        json.dumps({"t": 1, "data": f"@prefix x: <urn:{'y' * 9000}> . " + "x:a x:b x:c . " * 9000}),
    )
    yield of("not JSON", "<urn:a> <urn:p> 1 .\n" * 100)
    yield of("the first is wrong", "x\n" + '{"t": 1, "data": ""}\n' * 1000)
    yield of("the last is wrong", '{"t": 1, "data": "<urn:a> <urn:p> 1 ."}\n' * 1000 + "x\n")
    yield of("no line end", '{"t": 1, "data": ""}')


def _stream(table: pa.Table, compression: str | None = None) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _rows(n: int) -> pa.Table:
    return pa.table({"t": list(range(n)), "s": ["urn:a"] * n, "p": ["urn:p"] * n, "o": [str(i) for i in range(n)]})


def _arrow() -> Iterator[Document]:
    def of(name: str, body: bytes) -> Document:
        return Document(f"arrow: {name}", ARROW, body)

    good = _stream(_rows(20))
    chance = random.Random(7)
    for n in range(_FLIPS):
        damaged = bytearray(good)
        for _ in range(chance.choice([1, 4, 16])):
            damaged[chance.randrange(len(damaged))] = chance.choice([0, 0x7F, 0x80, 0xFF, chance.randrange(256)])
        yield of(f"flipped {n}", bytes(damaged))
    for n in range(_CUTS):
        yield of(f"cut {n}", good[: len(good) * n // _CUTS])
    n = 4_000_000
    yield of(
        "millions of nulls, compressed",
        _stream(pa.table({"t": pa.nulls(n, pa.int64()), "s": pa.nulls(n, pa.string())}), "zstd"),
    )
    equal = pa.table({"t": pa.repeat(1, n), **{name: pa.repeat("urn:x", n).dictionary_encode() for name in "spo"}})
    yield of("millions of equal rows, compressed", _stream(equal, "zstd"))
    yield of("columns", _stream(pa.table({f"c{n}": [1] for n in range(10_000)})))
    yield of("no columns", _stream(pa.table({})))
    yield of("no rows", _stream(_rows(0)))
    yield of("wrong types", _stream(pa.table({"t": ["x"], "s": [1], "p": [1.5], "o": [True]})))
    yield of("nested types", _stream(pa.table({"t": [1], "s": [[["urn:a"]]], "p": [{"a": 1}], "o": ["x"]})))
    yield of(
        "nulls",
        _stream(pa.table({"t": pa.array([1, None]), "s": ["urn:a", None], "p": ["urn:p", None], "o": ["x", None]})),
    )
    yield of(
        "strange terms",
        _stream(pa.table({"t": [1], "s": ["not an IRI"], "p": ["\x00"], "o": ["x"], "lang": ["not a tag"]})),
    )
    yield of(
        "strange times",
        _stream(pa.table({"t": [2**62, -(2**62)], "s": ["urn:a"] * 2, "p": ["urn:p"] * 2, "o": ["x"] * 2})),
    )
    yield of("another format", b"PAR1" + b"\x00" * 1000)
    yield of("an end without a beginning", b"\xff\xff\xff\xff\x00\x00\x00\x00")
    yield of("a length beyond", b"\xff\xff\xff\xff\xff\xff\xff\x7f" + good)
    yield of("nothing", b"")


def _times() -> Iterator[Document]:
    def at(text: str, kind: str = "dateTime") -> str:
        return f'<urn:g> {_PROV} "{text}"^^<{_XSD}{kind}> .\n<urn:a> <urn:p> <urn:b> <urn:g> .\n'

    for text in (
        "-9999-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "99999-01-01T00:00:00Z", "0000-01-01T00:00:00Z",
        "2024-01-01T24:00:00Z", "2024-01-01T00:00:00", "2024-02-30T00:00:00Z", "2024-01-01T00:00:00+99:99",
        "2024-01-01T23:59:60Z", "now", "",
    ):  # fmt: skip
        yield Document(f"time: {text}", QUADS, at(text).encode())
    yield Document("time: a number", QUADS, at("1e400", "double").encode())
    yield Document("time: two times", QUADS, (at("1", "integer") + at("2", "integer")).encode())
    yield Document("time: none", QUADS, b"<urn:a> <urn:p> <urn:b> <urn:g> .\n")
    many = [
        (n, f'<urn:g{n}> {_PROV} "{n}"^^<{_XSD}integer> .\n<urn:a> <urn:p> <urn:b{n}> <urn:g{n}> .\n')
        for n in range(5000)
    ]
    yield Document("time: backwards", QUADS, "".join(text for _, text in reversed(many)).encode())
    same = "".join(text.replace(f'"{n}"', '"7"') for n, text in many)
    yield Document("time: all at once", QUADS, same.encode())


def _cut() -> Iterator[Document]:
    good = {
        TURTLE: "@prefix : <urn:> . :a :p [ :q ( 1 'zwei'@de ) ] ; :r '''x''', <<( :a :p :b )>> .",
        TRIG: "@prefix : <urn:> . :g { :a :p [ :q ( 1 'zwei'@de ) ] } :h { :a :r '''x''' }",
        QUADS: '<urn:a> <urn:p> "zwei"@de <urn:g> .\n_:b <urn:p> "1"^^<urn:t> <urn:g> .\n',
        TRIPLES: '<urn:a> <urn:p> "zwei"@de .\n_:b <urn:p> "1"^^<urn:t> .\n',
        JSON_LD: '{"@context": {"@vocab": "urn:"}, "@id": "urn:a", "p": [{"@value": "zwei", "@language": "de"}, 1]}',
        NDJSON: '{"t": 1, "data": "<urn:a> <urn:p> 1 ."}\n{"t": 2, "event": {"@id": "urn:a", "urn:p": 1}}\n',
    }
    for media_type, text in good.items():
        for n in range(_CUTS):
            cut = text[: 1 + len(text) * n // _CUTS]
            yield Document(f"cut: {media_type} at {n}", media_type, cut.encode())
        other = JSON_LD if media_type != JSON_LD else TURTLE
        yield Document(f"as {other}: {media_type}", other, text.encode())


def _zipped() -> Iterator[Document]:
    bomb = gzip.compress(b" " * 50_000_000)
    yield Document("gzip: spaces", TURTLE, bomb, is_zipped=True)
    yield Document("gzip: lines", NDJSON, gzip.compress(b"\n" * 50_000_000), is_zipped=True)
    yield Document("gzip: twice", TURTLE, gzip.compress(bomb), is_zipped=True)
    yield Document("gzip: half of it", TURTLE, gzip.compress(b"<urn:a> <urn:p> 1 .")[:15], is_zipped=True)
    yield Document("gzip: none", TURTLE, b"<urn:a> <urn:p> 1 .", is_zipped=True)
    yield Document("gzip: many members", QUADS, gzip.compress(b"<urn:a> <urn:p> <urn:b> .\n") * 5000, is_zipped=True)
