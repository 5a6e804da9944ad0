"""Work in a separate process: fresh memory for every run, and a crash ends only one run."""

from __future__ import annotations

import os
import pickle
import traceback
import warnings
from collections.abc import Callable
from typing import TypeVar

from whorl_bench.case import AbsentError

Made = TypeVar("Made")


class RunError(RuntimeError):
    """A run that failed; the message is its traceback, or the signal that ended it."""


def isolated(work: Callable[[], Made]) -> Made:
    """The result of `work` in a fork of this process, which shares everything that is loaded here."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 and later warn about forking with threads; the child uses no lock of another thread.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        os.close(reading)
        _reply(writing, work)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        reply = pipe.read()
    _, status = os.waitpid(pid, 0)
    if not reply:
        raise RunError(f"the run ended with {_ending(status)}")
    is_made, made = pickle.loads(reply)  # noqa: S301 - our own child wrote it
    if isinstance(made, AbsentError):
        raise made
    if not is_made:
        raise RunError(made)
    result: Made = made
    return result


def _reply(writing: int, work: Callable[[], object]) -> None:
    """In the child: never returns."""
    try:
        reply: tuple[bool, object] = (True, work())
    except AbsentError as error:
        reply = (False, error)
    except BaseException:  # noqa: BLE001 - whatever it is, the parent is to hear of it
        reply = (False, traceback.format_exc())
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(pickle.dumps(reply))
    os._exit(0)


def _ending(status: int) -> str:
    return f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit code {os.WEXITSTATUS(status)}"
