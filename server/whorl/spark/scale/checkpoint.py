"""The checkpoint of a run: its query, the state after each batch, and the collection of old files.

    query.json    the query: its id, fingerprint, text, number of partitions; written once
    static/       the static data, by digest
    manifest/     one file per micro-batch; the newest few are kept
    state/        what manifests name: snapshots, logs, the merge, results
    spark/        Spark's own: offsets and commits

One driver writes; tasks write into state/ only.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from whorl._engine import __version__
from whorl.spark.scale import manifest as manifests
from whorl.spark.scale import state
from whorl.spark.scale.faults import CheckpointError
from whorl.spark.scale.files import Files, files_at
from whorl.spark.scale.manifest import Manifest
from whorl.spark.scale.spec import QuerySpec, StaticDocument

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

QUERY_FILE = "query.json"
MANIFESTS_MIN = 3
_FORMAT = 1
# A sweep of the whole directory finds files of losing task attempts; it costs a listing.
_SWEEP_EVERY = 32


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of a checkpoint's query."""

    id: str
    fingerprint: str
    text: str
    partitions: int
    streams: dict[str, Any]
    options: dict[str, Any]
    static: list[dict[str, Any]]
    engine: str
    format: int = _FORMAT


class Checkpoint:
    """One directory; one driver writes into it."""

    def __init__(self, files: Files, *, keep: int = MANIFESTS_MIN) -> None:
        if keep < MANIFESTS_MIN:
            raise CheckpointError(f"at least {MANIFESTS_MIN} manifests are kept, not {keep}", code="checkpoint.keep")
        self.files = files
        self._keep = keep
        self._n_published = 0

    # ---- identity ----

    def identity(self) -> Identity | None:
        """The content of `query.json`; None if nothing has run here yet."""
        try:
            document = json.loads(self.files.read(QUERY_FILE))
            if document["format"] != _FORMAT:
                raise _other_format(document["format"])
            return Identity(**document)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            raise CheckpointError(f"{QUERY_FILE} is damaged", code="checkpoint.damaged") from None

    def take(
        self, spec: QuerySpec, fingerprint: str, graphs: Iterable[tuple[str | None, bytes, str]] = (), name: str = ""
    ) -> QuerySpec:
        """Make this the checkpoint of a query, or check that it is; returns the spec completed from the checkpoint."""
        static = self._keep_static(graphs)
        known = self.identity()
        if known is None:
            self._check_empty()
            known = self._register(spec, fingerprint, static, name)
        _check(known, spec, fingerprint, static, name)
        return replace(spec, static=tuple(static), root=self.files.path(""), query_id=known.id)

    def _check_empty(self) -> None:
        """Refuse manifests without `query.json`, the only file that identifies their query."""
        if self.batches():
            raise CheckpointError(
                f"{self.files.path('')} has manifests and no {QUERY_FILE}, which identifies their query",
                code="checkpoint.no_query",
                hint=f"restore {QUERY_FILE} from a backup of the checkpoint, or start over with an empty directory",
            )

    def _register(self, spec: QuerySpec, fingerprint: str, static: list[StaticDocument], name: str) -> Identity:
        identity = Identity(
            id=name or f"whorl-{uuid.uuid4().hex[:12]}",
            fingerprint=fingerprint,
            text=spec.text,
            partitions=spec.partitions,
            streams=json.loads(spec.streams),
            options=json.loads(spec.options),
            static=[asdict(document) for document in static],
            engine=__version__,
        )
        try:
            self.files.publish(QUERY_FILE, json.dumps(asdict(identity), indent=1).encode())
        except FileExistsError:
            return self.identity() or identity
        return identity

    def _keep_static(self, graphs: Iterable[tuple[str | None, bytes, str]]) -> list[StaticDocument]:
        """Copy static data into the checkpoint, so that a later start does not depend on changed files."""
        documents, there = [], set(self.files.names("static"))
        for graph, body, form in graphs:
            name = f"static/{hashlib.sha256(body).hexdigest()[:32]}.{form}"
            if name not in there:
                self.files.write(name, body)
            documents.append(StaticDocument(graph, form, name))
        return documents

    # ---- state ----

    def manifest(self, batch: int) -> Manifest | None:
        """The state after a batch; None if there is no manifest."""
        name = manifests.name_of(batch)
        try:
            return Manifest.from_bytes(name, self.files.read(name))
        except FileNotFoundError:
            return None

    def batches(self) -> list[int]:
        """The batches that have a manifest, oldest first."""
        found = (state.batch_of(name) for name in self.files.names(manifests.FOLDER))
        return sorted(batch for batch in found if batch is not None)

    def latest(self) -> Manifest | None:
        """The newest state."""
        batches = self.batches()
        return self.manifest(batches[-1]) if batches else None

    def before(self, batch: int) -> Manifest | None:
        """The state that a batch starts from: None for the first one. A batch that does not follow is refused."""
        batches = self.batches()
        if batch - 1 in batches:
            return self.manifest(batch - 1)
        if not batches and batch == 0:
            return None
        known = f"those of {batches[0]} to {batches[-1]} are" if batches else "none is"
        raise CheckpointError(
            f"batch {batch} cannot run: the manifest of batch {batch - 1} does not exist, {known}",
            code="checkpoint.gap",
            hint="Spark's part of the checkpoint and the manifests belong together; start over with an empty directory",
        )

    def publish(self, manifest: Manifest) -> None:
        """Commit the batch, then delete files that are no longer needed."""
        try:
            self.files.publish(manifest.name, manifest.to_bytes())
        except FileExistsError:
            raise CheckpointError(
                f"batch {manifest.batch} was committed by another driver",
                code="checkpoint.in_use",
                hint="only one driver at a time may use a checkpoint",
            ) from None
        self.collect(sweep=self._n_published % _SWEEP_EVERY == 0)
        self._n_published += 1

    def collect(self, *, sweep: bool) -> None:
        """Delete old manifests and the files that only they name; with `sweep`, also files that no manifest names."""
        batches = self.batches()
        kept = [found for batch in batches[-self._keep :] if (found := self.manifest(batch)) is not None]
        needed: set[str] = set().union(*(manifest.files() for manifest in kept))
        unneeded: set[str] = set()
        for batch in batches[: -self._keep]:
            dropped = self.manifest(batch)
            unneeded |= set() if dropped is None else dropped.files()
            # The manifest is deleted first, so that an existing one always has its files.
            self.files.delete(manifests.name_of(batch))
        if sweep:
            newest = batches[-1] if batches else -1
            unneeded |= {name for name in self.files.names(state.FOLDER) if (state.batch_of(name) or 0) <= newest}
        for name in sorted(unneeded - needed):
            self.files.delete(name)


def open_checkpoint(root: str | os.PathLike[str], *, keep: int = MANIFESTS_MIN) -> Checkpoint:
    """The checkpoint in a directory, which need not exist yet."""
    return Checkpoint(files_at(root), keep=keep)


def _check(known: Identity, spec: QuerySpec, fingerprint: str, static: list[StaticDocument], name: str) -> None:
    """Refuse another query than that of the checkpoint, with one sentence per difference."""
    hint = "use another checkpoint directory, or the query this one was made by (whorl spark state DIR shows it)"
    if known.partitions != spec.partitions:
        said = f"the checkpoint has {known.partitions} partitions, not {spec.partitions}"
        raise CheckpointError(said, code="checkpoint.partitions", hint=f"run with partitions={known.partitions}")
    if known.fingerprint != fingerprint:
        said = f"the checkpoint belongs to another query ({known.id}, {known.fingerprint})"
        raise CheckpointError(said, code="checkpoint.query", hint=hint)
    if known.static != [asdict(document) for document in static]:
        raise CheckpointError("the static data are not those of the checkpoint", code="checkpoint.static", hint=hint)
    if name and name != known.id:
        raise CheckpointError(
            f"the checkpoint is that of {known.id!r}, not {name!r}", code="checkpoint.name", hint=hint
        )


def _other_format(found: object) -> CheckpointError:
    return CheckpointError(
        f"the checkpoint has format {found}, and this release reads {_FORMAT}",
        code="checkpoint.version",
        hint="use the release that wrote it",
    )
