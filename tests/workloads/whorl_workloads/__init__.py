"""Public stream benchmarks: loaders of their data, and the comparison of the engine with the outside oracle on it.

`data` finds the files; one module per benchmark turns them into events (`Event`) and static graphs (N-Triples by
graph name); `plain` translates a continuous query to SPARQL over a snapshot; `check` runs both sides.
"""

from whorl_workloads.data import DataMissingError, Event, Static, data_path, is_long

__all__ = ["DataMissingError", "Event", "Static", "data_path", "is_long"]
