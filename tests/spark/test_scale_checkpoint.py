"""State files, manifests and the checkpoint, without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow.fs import LocalFileSystem
from whorl.spark.scale.checkpoint import Checkpoint, open_checkpoint
from whorl.spark.scale.faults import CheckpointError
from whorl.spark.scale.files import ArrowFiles, Files, LocalFiles, read_state
from whorl.spark.scale.inspect import inspect
from whorl.spark.scale.manifest import Manifest
from whorl.spark.scale.spec import QuerySpec
from whorl.spark.scale.state import PartState, StateFile, new_name, read_log, write_log

SPEC = QuerySpec.of("SELECT …", 2, {"http://ex/s": {"lateness_ms": 5}})


def files_of(kind: str, root: Path) -> Files:
    return LocalFiles(root) if kind == "local" else ArrowFiles(LocalFileSystem(), str(root), str(root))


@pytest.fixture(params=["local", "arrow"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    return files_of(request.param, tmp_path)


def published(checkpoint: Checkpoint, batch: int, extra: bytes = b"") -> Manifest:
    """A batch whose files are really there."""
    names = [new_name(batch, f"p{part:05d}", 0, "full") for part in range(2)]
    for name in names:
        checkpoint.files.write(name, b"state" + extra)
    manifest = Manifest(
        batch, tuple(PartState(StateFile(name, 5)) for name in names), watermarks={"http://ex/s": batch}
    )
    checkpoint.publish(manifest)
    return manifest


class TestFiles:
    def test_what_is_written_is_read(self, files: Files) -> None:
        files.write("state/a", b"1")
        assert files.read("state/a") == b"1"
        assert files.names("state") == ["state/a"]

    def test_a_published_file_is_not_replaced(self, files: Files) -> None:
        files.publish("manifest/a", b"first")
        with pytest.raises(FileExistsError):
            files.publish("manifest/a", b"second")
        assert files.read("manifest/a") == b"first"
        assert files.names("manifest") == ["manifest/a"]

    def test_a_missing_file_is_said_to_be_missing(self, files: Files) -> None:
        with pytest.raises(FileNotFoundError):
            files.read("state/none")
        assert files.names("state") == []
        files.delete("state/none")


class TestLog:
    def test_chunks_come_back(self) -> None:
        chunks = [b"", b"one", b"two" * 1000]
        assert read_log("x", write_log(chunks)) == chunks
        assert read_log("x", write_log([])) == []

    @pytest.mark.parametrize("cut", [0, 5, 19, 21, 40])
    def test_a_torn_file_is_found(self, cut: int) -> None:
        with pytest.raises(CheckpointError, match="damaged"):
            read_log("state/x", write_log([b"one", b"two" * 10])[:cut])

    def test_a_changed_byte_is_found(self) -> None:
        data = bytearray(write_log([b"one", b"two"]))
        data[-1] ^= 1
        with pytest.raises(CheckpointError, match="damaged"):
            read_log("state/x", bytes(data))


class TestPartState:
    def test_the_version_is_the_newest_file(self) -> None:
        state = PartState()
        assert state.version == ""
        state = state.after("full", StateFile("a", 10))
        assert state.version == "a"
        state = state.after("log", StateFile("b", 1))
        assert (state.version, state.files()) == ("b", ["a", "b"])
        assert state.after("full", StateFile("c", 9)).files() == ["c"]

    def test_a_snapshot_is_due_when_the_log_is_longer_than_the_last_one(self) -> None:
        state = PartState(StateFile("a", 5 << 20))
        assert state.next_kind(5 << 20) == "log"
        assert state.next_kind((5 << 20) + 1) == "full"
        assert state.after("log", StateFile("b", 3 << 20)).next_kind(3 << 20) == "full"

    def test_a_short_log_is_never_worth_a_snapshot(self) -> None:
        assert PartState(StateFile("a", 10)).next_kind(1000) == "log"

    def test_the_number_of_log_files_is_bounded(self) -> None:
        state = PartState()
        kinds = []
        for number in range(100):
            kind = state.next_kind(1)
            state = state.after(kind, StateFile(str(number), 1))
            kinds.append(kind)
        assert "full" in kinds
        assert len(state.log) <= 32


class TestCheckpoint:
    def test_a_manifest_comes_back(self, tmp_path: Path) -> None:
        checkpoint = open_checkpoint(tmp_path)
        manifest = published(checkpoint, 0)
        assert checkpoint.manifest(0) == manifest
        assert open_checkpoint(tmp_path).latest() == manifest

    def test_three_manifests_and_their_files_are_kept(self, tmp_path: Path) -> None:
        checkpoint = open_checkpoint(tmp_path)
        manifests = [published(checkpoint, batch) for batch in range(6)]
        assert checkpoint.batches() == [3, 4, 5]
        needed = set().union(*(manifest.files() for manifest in manifests[3:]))
        assert set(checkpoint.files.names("state")) == needed

    def test_a_file_that_a_kept_manifest_names_stays_however_old(self, tmp_path: Path) -> None:
        checkpoint = open_checkpoint(tmp_path)
        base = StateFile(new_name(0, "p00000", 0, "full"), 1)
        checkpoint.files.write(base.name, b"x")
        for batch in range(8):
            checkpoint.publish(Manifest(batch, (PartState(base),)))
        assert checkpoint.files.names("state") == [base.name]

    def test_what_losing_attempts_wrote_is_swept(self, tmp_path: Path) -> None:
        checkpoint = open_checkpoint(tmp_path)
        published(checkpoint, 0)
        lost, running = new_name(0, "p00000", 7, "full"), new_name(9, "p00000", 7, "full")
        checkpoint.files.write(lost, b"x")
        checkpoint.files.write(running, b"x")
        checkpoint.collect(sweep=True)
        assert lost not in checkpoint.files.names("state")
        assert running in checkpoint.files.names("state")

    def test_a_second_driver_is_found(self, tmp_path: Path) -> None:
        published(open_checkpoint(tmp_path), 0)
        with pytest.raises(CheckpointError, match="another driver") as caught:
            published(open_checkpoint(tmp_path), 0)
        assert caught.value.code == "checkpoint.in_use"

    def test_a_batch_starts_from_the_one_before(self, tmp_path: Path) -> None:
        checkpoint = open_checkpoint(tmp_path)
        assert checkpoint.before(0) is None
        first = published(checkpoint, 0)
        assert checkpoint.before(1) == first

    @pytest.mark.parametrize("batch", [0, 5])
    def test_a_batch_that_does_not_follow_is_refused(self, tmp_path: Path, batch: int) -> None:
        checkpoint = open_checkpoint(tmp_path)
        for number in range(2, 4):
            published(checkpoint, number)
        with pytest.raises(CheckpointError, match=f"batch {batch} cannot run"):
            checkpoint.before(batch)

    def test_a_damaged_manifest_is_refused(self, tmp_path: Path) -> None:
        checkpoint = open_checkpoint(tmp_path)
        manifest = published(checkpoint, 0)
        (tmp_path / manifest.name).write_text("{")
        with pytest.raises(CheckpointError, match="damaged"):
            checkpoint.latest()


class TestIdentity:
    def test_the_same_query_keeps_its_id(self, tmp_path: Path) -> None:
        first = open_checkpoint(tmp_path).take(SPEC, "f1")
        assert open_checkpoint(tmp_path).take(SPEC, "f1").query_id == first.query_id
        assert first.root == str(tmp_path)

    def test_another_query_is_refused(self, tmp_path: Path) -> None:
        open_checkpoint(tmp_path).take(SPEC, "f1")
        with pytest.raises(CheckpointError, match="another query") as caught:
            open_checkpoint(tmp_path).take(SPEC, "f2")
        assert caught.value.code == "checkpoint.query"
        assert caught.value.hint is not None

    def test_another_number_of_partitions_is_refused(self, tmp_path: Path) -> None:
        open_checkpoint(tmp_path).take(SPEC, "f1")
        other = QuerySpec.of("SELECT …", 4, {})
        with pytest.raises(CheckpointError, match="2 partitions, not 4"):
            open_checkpoint(tmp_path).take(other, "f2")

    def test_other_static_data_are_refused(self, tmp_path: Path) -> None:
        graphs = [(None, b"<a:a> <a:b> <a:c> .", "turtle")]
        spec = open_checkpoint(tmp_path).take(SPEC, "f1", graphs)
        assert open_checkpoint(tmp_path).files.read(spec.static[0].name) == graphs[0][1]
        open_checkpoint(tmp_path).take(SPEC, "f1", graphs)
        with pytest.raises(CheckpointError, match="static data"):
            open_checkpoint(tmp_path).take(SPEC, "f1", [(None, b"", "turtle")])

    def test_a_name_is_kept(self, tmp_path: Path) -> None:
        assert open_checkpoint(tmp_path).take(SPEC, "f1", name="hot").query_id == "hot"
        with pytest.raises(CheckpointError, match="'hot', not 'cold'"):
            open_checkpoint(tmp_path).take(SPEC, "f1", name="cold")

    def test_fewer_than_three_manifests_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(CheckpointError, match="at least 3"):
            open_checkpoint(tmp_path, keep=2)


def test_manifests_without_their_query_are_refused(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(tmp_path)
    checkpoint.take(SPEC, "f")
    published(checkpoint, 0)
    (tmp_path / "query.json").unlink()
    with pytest.raises(CheckpointError, match=r"has manifests and no query\.json") as refused:
        open_checkpoint(tmp_path).take(SPEC, "f")
    assert refused.value.code == "checkpoint.no_query"
    assert "restore query.json" in str(refused.value.hint)


def test_a_state_file_that_is_lost_is_named_with_advice(files: Files) -> None:
    with pytest.raises(CheckpointError, match=r"the checkpoint has lost .*state/none") as lost:
        read_state(files, "state/none")
    assert lost.value.hint == "restore the file from a backup of the checkpoint, or start over with an empty directory"


def test_the_end_of_time_is_no_watermark_to_show(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(tmp_path)
    checkpoint.take(SPEC, "f")
    checkpoint.publish(Manifest(0, (), watermarks={"http://ex/s": 2**63 - 1, "http://ex/u": 5}, closed=True))
    assert inspect(tmp_path)["latest"]["watermarks"] == {"http://ex/s": None, "http://ex/u": 5}
