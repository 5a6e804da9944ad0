# The whole workflow: `make run`, `make test`; the rest is for people who change the code.
# Needs Python >= 3.11 and Rust with clippy and rustfmt; everything else is installed into .venv by `make setup`.

PYTHON ?= python3
# `make setup ENGINE_PROFILE=dev` builds the binding faster and slower to run.
ENGINE_PROFILE ?= release

VENV := .venv
BIN := $(VENV)/bin
DEPS_STAMP := $(VENV)/.stamp-deps
ENGINE_STAMP := $(VENV)/.stamp-engine-$(ENGINE_PROFILE)
CLIENT_STAMP := $(VENV)/.stamp-client

RUST_SOURCES := $(shell find engine-rs -name '*.rs' -not -path '*/target/*') $(shell find . -name Cargo.toml -not -path './target/*') Cargo.lock
PYTHON_DIRS := server/whorl clients tests examples benchmarks

# One value for maturin, cargo and clippy: a change of it makes cargo rebuild the binding.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PYTHONDONTWRITEBYTECODE := 1

.DEFAULT_GOAL := help
.PHONY: help setup test test-all test-rust test-python bench run fmt lint lint-rust lint-python docs lock cases-update clean

help:
	@echo "make run           set up, start a server with the demo, print its address"
	@echo "make test          set up, lint, all tests of the everyday size"
	@echo "make test-all      the same, and the long campaigns"
	@echo "make bench         benchmarks"
	@echo "make fmt lint      format, check"
	@echo "make docs          reference documentation of the engine"
	@echo "make cases-update  rewrite the expectations in tests/cases and tests/plans; read the diff"
	@echo "make lock          renew the exact versions of the development requirements"
	@echo "make clean         remove what the targets above made"

setup: $(ENGINE_STAMP) $(CLIENT_STAMP)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=…" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(DEPS_STAMP): requirements-dev.lock | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-virtualenv -r requirements-dev.lock
	touch $@

# The binding is built again only when a source, a manifest or a locked version has changed.
$(ENGINE_STAMP): $(DEPS_STAMP) $(RUST_SOURCES) pyproject.toml
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --quiet --profile $(ENGINE_PROFILE)
	rm -f $(VENV)/.stamp-engine-*
	touch $@

# The client is pure Python and read from its sources; only its manifest is worth another installation.
$(CLIENT_STAMP): $(DEPS_STAMP) clients/python/pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-virtualenv --no-deps -e clients/python
	touch $@

test: lint test-rust test-python

test-all: export WHORL_CAMPAIGN = long
test-all: test

# The engine's own tests need no Python; the binding is tested from Python.
test-rust:
	cargo test --quiet --locked --workspace --exclude whorl-python

test-python: setup
	$(BIN)/python -m pytest -q

lint: lint-rust lint-python

lint-rust: $(DEPS_STAMP)
	@cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@cargo clippy --version >/dev/null 2>&1 || rustup component add clippy
	cargo fmt --all --check
	cargo clippy --quiet --locked --workspace --all-targets -- -D warnings

lint-python: setup
	$(BIN)/ruff check $(PYTHON_DIRS)
	$(BIN)/ruff format --check $(PYTHON_DIRS)
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest whorl._engine

fmt: $(DEPS_STAMP)
	cargo fmt --all
	$(BIN)/ruff check --fix --exit-zero --quiet $(PYTHON_DIRS)
	$(BIN)/ruff format $(PYTHON_DIRS)

bench: setup
	cargo bench --locked -p whorl-engine
	$(BIN)/python benchmarks/http_ingest.py
	$(BIN)/python benchmarks/ws_fanout.py
	$(BIN)/python benchmarks/recovery.py

# Prints a ready URL. What the demo keeps is in whorl-data; PORT=… takes another port.
run: setup
	$(BIN)/whorl serve --demo $(if $(PORT),--port $(PORT))

docs:
	cargo doc --locked --no-deps -p whorl-engine

cases-update: export WHORL_CASES_UPDATE = 1
cases-update:
	cargo test --quiet --locked -p whorl-engine

lock: $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-tools
	$(BIN)/pip-compile --quiet --upgrade --extra dev --strip-extras --no-header --no-annotate \
		--no-emit-index-url --no-emit-trusted-host --no-emit-find-links --output-file requirements-dev.lock pyproject.toml

clean:
	rm -rf $(VENV) target dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf clients/python/build clients/python/src/*.egg-info
	find server clients tests examples -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -f server/whorl/_engine*.so
