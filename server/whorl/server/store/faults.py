"""Errors of the store. Every message names the file and says what to do."""

from __future__ import annotations


class StoreError(Exception):
    """The store cannot be used; the message names the file and says why."""


class LossError(StoreError):
    """Acknowledged data is missing. The store opens only if the operator accepts the loss."""


class NotWrittenError(StoreError):
    """A write failed and was undone: the data is not in the store, now or after a restart."""


class OutcomeUnknownError(StoreError):
    """A write failed, and so did undoing it: only the next start can tell what is on the disk."""
