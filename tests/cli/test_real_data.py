"""Public data goes through `whorl run` by the commands of the guide, with the results that a plain computation gives.

The commands, events and results stand in `docs/how-to/feeding-data.md`. The functions here read the same files with the
standard library alone (and pyoxigraph for JSON-LD) and know nothing of windows, mappings or queries.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import shlex
import tarfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from itertools import pairwise
from pathlib import Path

import pytest
from reference_data import reference_path
from typer.testing import Result

Whorl = Callable[..., Result]
Numbers = dict[str, list[float]]

ROOT = Path(__file__).parents[2]
FEEDING = ROOT / "examples/feeding"
DATA = reference_path("data", "README.md")
_ROW = re.compile(r"^\| `whorl run (.*)` \| (\d+) \| (.*) \|$", re.MULTILINE)
# One command for each kind of file; the others run in the long campaign.
_SHORT = ("heart", "location", "dbpedia", "BGN", "Harris", "participant1", "motion.csv", "environment", "AIRGL", "User")


def commands() -> list[tuple[str, int, str]]:
    guide = (ROOT / "docs/how-to/feeding-data.md").read_text()
    return [(command, int(events), result) for command, events, result in _ROW.findall(guide)]


def marked() -> Iterator[object]:
    for row in commands():
        is_short = any(word in row[0] for word in _SHORT)
        yield pytest.param(*row, marks=() if is_short else pytest.mark.long, id=row[0].split("-i ")[1].split()[0])


@pytest.mark.skipif(DATA is None, reason="the public data is not there; set WHORL_TEST_DATA")
@pytest.mark.parametrize(("command", "events", "result"), list(marked()))
def test_a_public_file_is_loaded_by_one_command(
    command: str, events: int, result: str, whorl: Whorl, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert DATA is not None
    monkeypatch.chdir(FEEDING)
    arguments = shlex.split(command.replace("DATA", str(DATA.parent)))
    ran = whorl("run", *arguments, "--format", "csv")
    assert ran.exit_code == 0, ran.stderr
    assert int(ran.stderr.strip().splitlines()[-1].split()[0]) == events
    assert shown(ran.stdout) == result
    inputs = [value for option, value in pairwise(arguments) if option == "-i"]
    assert confirmed(inputs, arguments) == result


@pytest.mark.skipif(DATA is None, reason="the public data is not there; set WHORL_TEST_DATA")
@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("smarthome/smarthome_motion.nt", "smarthome_motion.nt:4"),
        ("rdf-stream-samples/rsp-ql-example-streams.tar.gz:*Subject.json", "Location_Subject.json:10:5"),
    ],
)
def test_what_is_no_rdf_is_refused_with_its_own_line(
    file: str, line: str, whorl: Whorl, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert DATA is not None
    monkeypatch.chdir(FEEDING)
    form = ("--input-format", "jsonld") if "json" in file else ()
    ran = whorl("run", "triples.rspql", "-i", str(DATA.parent / file), "--every", "1s", *form)
    assert ran.exit_code == 1
    assert line in ran.stderr


NO_STREAMS = ("queries.tar.gz", "published-results.tar.gz", "static.tar.gz")
FOLDERS = ("rdf-stream-samples", "dahcc", "smarthome", "srbench", "citybench", "wikipedia-edits")


@pytest.mark.skipif(DATA is None, reason="the public data is not there; set WHORL_TEST_DATA")
def test_every_file_has_a_command_or_is_named_as_what_it_is() -> None:
    assert DATA is not None
    guide = (ROOT / "docs/how-to/feeding-data.md").read_text()
    listed = " ".join(command for command, _, _ in commands())
    files = [file for folder in FOLDERS for file in (DATA.parent / folder).rglob("*") if file.is_file()]
    without = [file.name for file in files if f"DATA/{file.relative_to(DATA.parent)}" not in listed]
    assert len(files) - len(without) > 20
    assert [name for name in without if f"`{name}`" not in guide] == []
    assert {name for name in without if name not in NO_STREAMS} == {
        f"smarthome_{kind}.nt" for kind in ("meter", "motion", "sensors")
    }


def shown(text: str) -> str:
    """The rows of the first window as the guide shows them."""
    rows = list(csv.reader(io.StringIO(text)))[1:]
    return summary({"" if row[2].isdigit() else row[2]: row[2:] for row in rows if row[0] == rows[0][0]})


def summary(rows: dict[str, list[str]]) -> str:
    if len(rows) > 4:
        return f"{len(rows)} predicates, {sum(int(row[-1]) for row in rows.values())} triples"
    return "; ".join(cell(name(key), row[1:] if key else row) for key, row in sorted(rows.items()))


def cell(key: str, values: list[str]) -> str:
    mean = "" if len(values) == 1 else f", mean {float(values[1]):.4f}"
    return f"{key} {values[0]}{mean}".strip()


def name(iri: str) -> str:
    return re.split(r"[/#]", iri)[-1]


# ---- the same results, computed without the engine ----


def confirmed(inputs: list[str], arguments: list[str]) -> str:
    query = Path(arguments[0]).stem
    texts = [text for file in inputs for text in contents(file)]
    if query == "per-property":
        return of_numbers(of_rows(texts, arguments))
    if query == "per-result":
        return of_counts(of_matches(texts, r"hasSimpleResult (\S+) \."))
    if query == "confident":
        pairs = re.findall(r"hasSimpleResult ([\d.]+)>> ex:confidence ([\d.]+)", texts[0])
        return of_numbers({"": [float(value) for value, confidence in pairs if float(confidence) > 0.9]})
    if query == "saref":
        found: Numbers = defaultdict(list)
        for what, value in re.findall(r"relatesToProperty> <([^>]*)>.*hasValue> \"([^\"]*)\"", texts[0]):
            found[name(what)].append(float(value))
        return of_numbers(found)
    quads = [quad for text in texts for quad in triples(text, is_json=texts[0].lstrip().startswith("{"))]
    return of_cities(quads) if query == "cities" else of_counts([predicate for _, predicate, _ in quads])


def contents(file: str) -> Iterator[str]:
    archive, inside, pattern = file.partition(".tar.gz:")
    if inside:
        with tarfile.open(archive + ".tar.gz") as tar:
            members = sorted((info for info in tar if fnmatch(info.name, pattern)), key=lambda info: info.name)
            yield from (tar.extractfile(info).read().decode() for info in members)  # type: ignore[union-attr]  # members are files
        return
    raw = Path(file).read_bytes()
    yield (gzip.decompress(raw) if file.endswith(".gz") else raw).decode()


def of_rows(texts: list[str], arguments: list[str]) -> Numbers:
    """The columns that the mapping observes; the few that it computes are computed here anew."""
    mapping = (FEEDING / arguments[arguments.index("--mapping") + 1]).read_text()
    observed = re.findall(r"observedProperty :(\w+) ; sosa:hasSimpleResult \?(\w+)", mapping)
    columns = arguments[arguments.index("--columns") + 1].split(",") if "--columns" in arguments else None
    found: Numbers = defaultdict(list)
    for text in texts:
        if text.startswith("{"):
            rows: Iterator[dict[str, object]] = (json.loads(line) for line in text.splitlines())
        else:
            rows = iter(csv.DictReader(io.StringIO(text), columns))
        for row in rows:
            for what, column in observed:
                value = computed(row, column)
                if value not in (None, ""):
                    found[what].append(float(str(value)))
    return found


def computed(row: dict[str, object], column: str) -> object:
    if column == "free":
        return int(str(row["totalspaces"])) - int(str(row["vehiclecount"]))
    if column == "latitude":
        return str(row["place"]).partition("|")[2]
    return row[{"insideTemperature": "inside", "outsideTemperature": "outside"}.get(column, column)]


def of_numbers(numbers: Numbers) -> str:
    return summary(
        {
            key: [*([key] if key else []), str(len(values)), str(sum(values) / len(values))]
            for key, values in numbers.items()
        }
    )


def of_matches(texts: list[str], pattern: str) -> list[str]:
    return [re.split(r"[/#:]", found.strip("<>"))[-1] for text in texts for found in re.findall(pattern, text)]


def of_counts(found: list[str]) -> str:
    return summary({key: [key, str(found.count(key))] for key in set(found)})


def triples(text: str, *, is_json: bool) -> list[tuple[str, str, str]]:
    """Those of named graphs, or all if there are none."""
    import pyoxigraph as ox

    form = ox.RdfFormat.JSON_LD if is_json else ox.RdfFormat.TURTLE
    quads = list(ox.parse(text, form, base_iri="http://example.org/"))
    named = [quad for quad in quads if not isinstance(quad.graph_name, ox.DefaultGraph)]
    return [(str(q.subject.value), q.predicate.value, str(q.object.value)) for q in named or quads]


def of_cities(quads: list[tuple[str, str, str]]) -> str:
    found: Numbers = defaultdict(list)
    for city, predicate, celsius in quads:
        if predicate.endswith("hasPointTempC") and re.fullmatch(r"[+-]?[\d.]+", celsius):
            found[name(city)].append(float(celsius))
    return of_numbers(found)
