"""Benchmarks as data: a workload is a TOML file, the runner measures it, the report shows it beside the papers.

`workload` reads the files; `sources` make or load events; `contestants` evaluate them; `runner` alternates between the
contestants, each run in a process of its own; `check` compares their answers first; `results` are JSON, of which
`report` makes a page with tables and plots and `compare` shows what has changed.
"""
