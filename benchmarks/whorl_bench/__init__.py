"""Benchmarks as data: a workload is a TOML file, the runner measures it, the report compares it with the papers.

`workload` reads the files; `sources` make or load events; `contestants` evaluate them; `runner` alternates between the
contestants, each run in a separate process; `check` compares their results first; `results` are JSON, from which
`report` creates a page with tables and plots, and `compare` shows the differences between two runs.
"""
