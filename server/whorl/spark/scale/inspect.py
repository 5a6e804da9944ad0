"""The content of a checkpoint, for people and programs, read without running or changing anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.documents import shown_instant
from whorl.spark.scale.checkpoint import open_checkpoint
from whorl.spark.scale.faults import CheckpointError

if TYPE_CHECKING:
    import os

    from whorl.spark.scale.checkpoint import Checkpoint
    from whorl.spark.scale.manifest import Manifest


def inspect(root: str | os.PathLike[str]) -> dict[str, Any]:
    """The query, its manifests, and for the newest one the partitions with their sizes."""
    checkpoint = open_checkpoint(root)
    identity = checkpoint.identity()
    if identity is None:
        raise CheckpointError(
            f"{str(root)!r} is not the checkpoint of a query",
            code="checkpoint.missing",
            hint="name the directory that was given to --checkpoint",
        )
    batches = checkpoint.batches()
    latest = checkpoint.latest()
    return {
        "query": identity.id,
        "fingerprint": identity.fingerprint,
        "engine": identity.engine,
        "partitions": identity.partitions,
        "streams": identity.streams,
        "options": identity.options,
        "static": identity.static,
        "text": identity.text,
        "batches": batches,
        "latest": None if latest is None else _latest(checkpoint, latest),
    }


def _latest(checkpoint: Checkpoint, manifest: Manifest) -> dict[str, Any]:
    there = set(checkpoint.files.names("state"))
    return {
        "batch": manifest.batch,
        "engine": manifest.engine,
        "closed": manifest.closed,
        "watermarks": {stream: shown_instant(at) for stream, at in manifest.watermarks.items()},
        "stats": manifest.stats,
        "answersBytes": 0 if manifest.answers is None else manifest.answers.bytes,
        "mergeBytes": 0 if manifest.merge is None else manifest.merge.bytes,
        "missing": sorted(manifest.files() - there),
        "files": len(there),
        "parts": [
            {
                "part": number,
                "snapshotBytes": 0 if part.base is None else part.base.bytes,
                "snapshot": None if part.base is None else part.base.name,
                "logBytes": part.log_bytes,
                "logFiles": len(part.log),
            }
            for number, part in enumerate(manifest.parts)
        ],
    }
