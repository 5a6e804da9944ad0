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
.PHONY: help setup test test-all test-rust test-python rust-checked bench run fmt lint lint-rust lint-python docs lock cases-update clean
.PHONY: client-sync types
.PHONY: wheels wheel-test wheel-repeat image-test compose-check audit audit-offline sbom

help:
	@echo "make run           set up, start a server with the demo, print its address"
	@echo "make test          set up, lint, all tests of the everyday size"
	@echo "make test-all      the same, and the long campaigns"
	@echo "make bench         benchmarks"
	@echo "make fmt lint      format, check"
	@echo "make client-sync   generate the blocking client from the asyncio client"
	@echo "make types         check the types of every public call with pyright, which npx downloads"
	@echo "make docs          reference documentation of the engine"
	@echo "make cases-update  rewrite the expectations in tests/cases and tests/plans; read the diff"
	@echo "make lock          renew the exact versions of the development requirements"
	@echo "make wheels        dist/: the wheels of whorl and whorl-client (MANYLINUX=2_17 for older systems)"
	@echo "make wheel-test    install them into an empty environment, without Rust and Node, and use them"
	@echo "make wheel-repeat  build them once more in another directory, and compare the bytes"
	@echo "make image-test    build docker/Dockerfile with buildah on base images made here, and use it (WHEELS=dist: without building them)"
	@echo "make compose-check check the compose files with every profile, and what they mount"
	@echo "make audit sbom    advisories, licences and sources of dependencies; bills of materials in dist/"
	@echo "make clean         remove what the targets above made"

setup: $(ENGINE_STAMP) $(CLIENT_STAMP)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=…" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(DEPS_STAMP): requirements-dev.lock | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-virtualenv -r requirements-dev.lock
	touch $@

# The binding is built again only when a source, a manifest or a locked version has changed.
# The package asks for the client, which is not to come from an index: it is installed before.
$(ENGINE_STAMP): $(DEPS_STAMP) $(CLIENT_STAMP) $(RUST_SOURCES) pyproject.toml
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --quiet --profile $(ENGINE_PROFILE)
	rm -f $(VENV)/.stamp-engine-*
	touch $@

# The client is pure Python and read from its sources; only its manifest is worth another installation.
$(CLIENT_STAMP): $(DEPS_STAMP) clients/python/pyproject.toml clients/python/setup.py Cargo.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-virtualenv --no-deps -e clients/python
	touch $@

# The binding is built beside the tests of the engine: most of its time is one thread of the linker.
test:
	@$(MAKE) --no-print-directory --jobs=2 setup rust-checked
	@$(MAKE) --no-print-directory lint-python test-python

test-all: export WHORL_CAMPAIGN = long
test-all: test

# The engine's own tests need no Python; the binding is tested from Python.
test-rust:
	cargo test --quiet --locked --workspace --exclude whorl-python

rust-checked: lint-rust
	@$(MAKE) --no-print-directory test-rust

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
	$(BIN)/python clients/python/generate_sync.py --check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest whorl._engine

fmt: $(DEPS_STAMP)
	cargo fmt --all
	$(BIN)/ruff check --fix --exit-zero --quiet $(PYTHON_DIRS)
	$(BIN)/ruff format $(PYTHON_DIRS)

# `_client.py` is `_async_client.py` without `await`; lint-python fails when it is out of date.
client-sync: $(DEPS_STAMP)
	$(BIN)/python clients/python/generate_sync.py

# Not part of lint, because npx may have to download pyright.
types: setup
	npx --yes pyright

bench: setup
	cargo bench --locked -p whorl-engine
	$(BIN)/python benchmarks/http_ingest.py
	$(BIN)/python benchmarks/ws_fanout.py
	$(BIN)/python benchmarks/recovery.py
	$(BIN)/python benchmarks/spark_sink.py
	$(BIN)/python benchmarks/spark_scale.py

# Prints a ready URL. What the demo keeps is in whorl-data; PORT=… takes another port.
run: setup
	$(BIN)/whorl serve --demo $(if $(PORT),--port $(PORT))

docs:
	cargo doc --locked --no-deps -p whorl-engine

cases-update: export WHORL_CASES_UPDATE = 1
cases-update:
	cargo test --quiet --locked -p whorl-engine

# The client of this repository is needed to resolve the requirements, and is not one of them itself.
lock: $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-tools
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/lock clients/python
	$(BIN)/pip-compile --quiet --upgrade --extra dev --extra spark --strip-extras --no-header --no-annotate --find-links build/lock \
		--unsafe-package pip --unsafe-package setuptools --unsafe-package whorl-client --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
		--output-file requirements-dev.lock pyproject.toml
	rm -rf clients/python/build

# --- packaging ---

# Two builds of one commit are the same bytes: times are those of the commit, and no path of this machine is in them.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
# Which systems the wheel is for. Empty: those with the glibc of this machine or a newer one; 2_17: all that Rust supports,
# by zig's linker, which comes from the package index.
MANYLINUX ?=
WHEEL_FLAGS := --profile wheel --out dist $(if $(MANYLINUX),--zig --compatibility manylinux_$(MANYLINUX))

wheels: export SOURCE_DATE_EPOCH := $(SOURCE_DATE_EPOCH)
# A directory of its own: other flags would make `make setup` build everything again.
wheels: export CARGO_TARGET_DIR := $(CURDIR)/target/wheels
wheels: export RUSTFLAGS := --remap-path-prefix=$(CURDIR)=/whorl --remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=/cargo
wheels: $(DEPS_STAMP)
	rm -rf dist/whorl-*.whl dist/whorl_client-*.whl clients/python/build
	$(if $(MANYLINUX),$(BIN)/python -m pip install --quiet --disable-pip-version-check ziglang)
	VIRTUAL_ENV=$(CURDIR)/$(VENV) PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/maturin build $(WHEEL_FLAGS)
	$(BIN)/python -m build --wheel --outdir dist clients/python
	rm -rf clients/python/build

# Takes the wheels that are in dist/, and makes them if there are none.
wheel-test: $(DEPS_STAMP)
	ls dist/whorl-*.whl dist/whorl_client-*.whl >/dev/null 2>&1 || $(MAKE) wheels
	$(BIN)/python tests/packaging/wheel_check.py dist

# The same commit built once more, in another directory and from nothing: dist/ has the same bytes.
wheel-repeat:
	rm -rf build/repeat
	git clone --quiet . build/repeat
	$(MAKE) -C build/repeat wheels
	cd dist && sha256sum whorl-*.whl whorl_client-*.whl > ../build/wheels.sha256
	cd build/repeat/dist && sha256sum --check ../../wheels.sha256

# Needs buildah and debootstrap, and the rights to use them; the images are tagged whorl:test and whorl-spark:test.
# Takes the wheels of WHEELS=dist, and builds none, where that is said.
WHEELS ?=
image-test: $(CLIENT_STAMP)
	$(BIN)/python tests/packaging/image_check.py $(if $(WHEELS),--wheels $(WHEELS))

# In an environment of their own: the tools are no part of what they look at.
AUDIT_VENV := .venv-audit
$(AUDIT_VENV)/.stamp: requirements-audit.txt
	$(PYTHON) -m venv $(AUDIT_VENV)
	$(AUDIT_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-audit.txt
	touch $@

# Needs docker compose or docker-compose; promtool checks more when it is there.
compose-check: $(AUDIT_VENV)/.stamp
	PATH=$(CURDIR)/$(AUDIT_VENV)/bin:$$PATH $(PYTHON) tests/packaging/compose_check.py

# Advisories come from services of the network: where those are out of reach, this fails and says so; audit-offline does the rest.
# Both are asked, whatever the first one says.
audit: audit-offline $(AUDIT_VENV)/.stamp
	@cargo deny --locked check advisories; crates=$$?; \
	$(AUDIT_VENV)/bin/pip-audit --strict --no-deps --disable-pip --requirement requirements-dev.lock; packages=$$?; \
	[ "$$crates$$packages" = 00 ] || { \
		echo "make audit: an advisory was found, or where they are kept is out of reach; the lines above say which" >&2; exit 1; }

audit-offline:
	@cargo deny --version >/dev/null 2>&1 || cargo install --locked cargo-deny
	cargo deny --locked check bans licenses sources

sbom: export SOURCE_DATE_EPOCH := $(SOURCE_DATE_EPOCH)
sbom: $(AUDIT_VENV)/.stamp
	@cargo cyclonedx --version >/dev/null 2>&1 || cargo install --locked cargo-cyclonedx
	mkdir -p dist
	$(AUDIT_VENV)/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible \
		--output-file dist/whorl-python.cdx.json requirements-dev.lock
	cargo cyclonedx --manifest-path engine-rs/python/Cargo.toml --format json --spec-version 1.5 --override-filename whorl-rust.cdx
	sed 's|file://$(CURDIR)|file:///whorl|g' engine-rs/python/whorl-rust.cdx.json > dist/whorl-rust.cdx.json
	rm -f engine-rs/whorl-rust.cdx.json engine-rs/python/whorl-rust.cdx.json

clean:
	rm -rf $(VENV) $(AUDIT_VENV) target dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf clients/python/build clients/python/src/*.egg-info
	find server clients tests examples -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -f server/whorl/_engine*.so
