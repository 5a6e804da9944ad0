"""Files inside archives: `streams.tar.gz:streams/*.csv`."""

from __future__ import annotations

import tarfile
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import PurePosixPath

from whorl.cli.faults import CommandError, UsageError

SUFFIXES = (".tar.gz", ".tgz", ".tar")


def in_archive(name: str) -> tuple[str, str | None]:
    """An archive and the pattern of files in it."""
    for suffix in SUFFIXES:
        archive, found, member = name.partition(f"{suffix}:")
        if found:
            return archive + suffix, member
    return name, None


def expanded(name: str) -> list[str]:
    """The files that a name refers to: itself, or files of an archive."""
    archive, pattern = in_archive(name)
    if pattern is None:
        if name.endswith(SUFFIXES):
            raise UsageError(f"{name!r} is an archive", hint=f"name files inside it, such as {name}:*.csv")
        return [name]
    found = sorted(member for member in members_of(archive) if fnmatch(member, pattern))
    if not found:
        some = ", ".join(list(members_of(archive))[:3])
        raise UsageError(f"there is no file {pattern!r} in {archive}", hint=f"it contains {some} …")
    return [f"{archive}:{member}" for member in found]


@lru_cache(maxsize=1)
def members_of(archive: str) -> dict[str, bytes]:
    """All files of an archive by name; opening them one by one would unpack all earlier ones each time."""
    try:
        with tarfile.open(archive) as tar:
            files = [(info.name, tar.extractfile(info)) for info in tar if info.isfile()]
            return {name: file.read() for name, file in files if file is not None}
    except (OSError, tarfile.TarError) as error:
        raise CommandError(f"cannot read {archive!r}: {getattr(error, 'strerror', None) or error}") from None


def stem_in_archive(name: str) -> str | None:
    """The name of a file inside an archive, without folders and suffix; None for any other file."""
    member = in_archive(name)[1]
    return None if member is None else PurePosixPath(member).stem
