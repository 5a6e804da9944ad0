# The whole workflow: `make run`, `make test`; the rest is for people who change the code.
# Needs Python >= 3.11 and Rust with clippy and rustfmt, and Node >= 18 for the console; everything else is installed into .venv by `make setup`.

PYTHON ?= python3
# Tests and checks use the dev profile, which has internal checks and shares its crates with the tests of the engine.
# Benchmarks use an optimised build; `make run` has a separate profile that compiles faster.
ENGINE_PROFILE ?= $(if $(filter setup bench bench-quick bench-programs,$(MAKECMDGOALS)),release,dev)

VENV := .venv
BIN := $(VENV)/bin
DEPS_STAMP := $(VENV)/.stamp-deps
RUN_STAMP := $(VENV)/.stamp-run
# The packages to install before the engine is built: all, or for `make run` only those that the server needs.
PACKAGES_STAMP ?= $(DEPS_STAMP)
ENGINE_STAMP := $(VENV)/.stamp-engine-$(ENGINE_PROFILE)
CLIENT_STAMP := $(VENV)/.stamp-client
WEB_STAMP := $(VENV)/.stamp-web

RUST_SOURCES := $(shell find engine-rs -name '*.rs' -not -path '*/target/*') $(shell find . -name Cargo.toml -not -path './target/*') Cargo.lock
WEB_SOURCES := $(shell find server/web server/whorl/demo examples -type f -not -path '*/node_modules/*' -not -name '*.py*')
PYTHON_DIRS := server/whorl clients tests examples benchmarks docs/site

# One value for maturin, cargo and clippy: a change of it makes cargo rebuild the binding.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PYTHONDONTWRITEBYTECODE := 1

.DEFAULT_GOAL := help
.PHONY: help setup test test-all test-rust test-python rust-checked bench run fmt lint lint-rust lint-python docs lock cases-update clean
.PHONY: chromium client-sync types runnable docs-engine screenshots bench-quick bench-programs bench-peers
.PHONY: wheels wheel-test wheel-repeat image-test compose-check audit audit-offline sbom

help:
	@echo "make run           set up, start a server with the demo, print its address"
	@echo "make test          set up, lint, run all tests except the long campaigns"
	@echo "make test-all      the same with the long campaigns"
	@echo "make bench-quick   run the experiments of the papers in ten minutes, and write docs/performance.md"
	@echo "make bench         the same in the sizes of the papers, with the other benchmarks"
	@echo "make fmt lint      format the code, check it"
	@echo "make client-sync   generate the blocking client from the asyncio client"
	@echo "make types         check the types of every public call with pyright, which npx downloads"
	@echo "make docs          build the documentation as a site in build/docs, which needs no server"
	@echo "make docs-engine   build the reference documentation of the engine's crate"
	@echo "make screenshots   take the pictures of the console in docs/pictures from the running product"
	@echo "make cases-update  rewrite the expectations in tests/cases and tests/plans; read the diff"
	@echo "make lock          update the pinned versions of the development requirements"
	@echo "make wheels        build the wheels of whorl and whorl-client in dist/ (MANYLINUX=2_17 for older systems)"
	@echo "make wheel-test    install and use them in an empty environment, without Rust and Node"
	@echo "make wheel-repeat  build them again in another directory, and compare the bytes"
	@echo "make image-test    build and use the images with buildah on local base images (WHEELS=dist: use existing wheels)"
	@echo "make compose-check check the compose files with every profile, and the files they mount"
	@echo "make audit sbom    check advisories, licences and sources of dependencies; write bills of materials to dist/"
	@echo "make clean         remove everything that these targets create"

setup: $(ENGINE_STAMP) $(CLIENT_STAMP) $(WEB_STAMP)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=…" >&2; exit 1; }
	@echo "making an environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(DEPS_STAMP): requirements-dev.lock | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-virtualenv -r requirements-dev.lock
	touch $@

$(RUN_STAMP): requirements-run.lock | $(BIN)/python
	@echo "installing the packages that the server needs"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-virtualenv -r requirements-run.lock
	@touch $@

# The binding is built again only when a source, a manifest or a locked version has changed.
# The package requires the client, which must not come from an index, so it is installed before.
$(ENGINE_STAMP): $(PACKAGES_STAMP) $(CLIENT_STAMP) $(RUST_SOURCES) pyproject.toml
	@echo "building the engine (profile $(ENGINE_PROFILE))"
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --quiet --profile $(ENGINE_PROFILE) >$(VENV)/engine.log 2>&1 || \
		{ cat $(VENV)/engine.log >&2; exit 1; }
	@rm -f $(VENV)/.stamp-engine-*
	@touch $@

# The client is pure Python and used from its sources; it is reinstalled only if its manifest changes.
$(CLIENT_STAMP): $(PACKAGES_STAMP) clients/python/pyproject.toml clients/python/setup.py Cargo.toml
	@echo "installing the client"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-virtualenv --no-deps -e clients/python
	@touch $@

# The console. Without Node it is left out with a message.
$(WEB_STAMP): $(WEB_SOURCES) | $(BIN)/python
	@echo "building the console"
	@sh server/web/build.sh $(CURDIR)/$@

# While the Python packages are installed, the tests of the engine are built; while those run, the binding is built.
test:
	@$(MAKE) --no-print-directory --jobs=2 ENGINE_PROFILE=$(ENGINE_PROFILE) setup rust-checked
	@$(MAKE) --no-print-directory lint-python test-python

test-all: export WHORL_CAMPAIGN = long
test-all: test

# The engine's own tests need no Python; the binding is tested from Python, and has no tests here. It is not excluded
# because the features of its dependencies would be left out, and the engine compiled a second time for the binding.
test-rust:
	cargo test --quiet --locked --workspace

rust-checked: test-rust $(DEPS_STAMP)
	@$(MAKE) --no-print-directory lint-rust

# The tests of the console need Chromium, which is installed if possible; otherwise they are skipped.
CHROMIUM := command -v chromium || command -v chromium-browser || command -v google-chrome
chromium:
	@{ $(CHROMIUM); } >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && echo "installing Chromium" && \
		{ apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium; } >$(VENV)/chromium.log 2>&1 </dev/null; } || \
		echo "Chromium is not installed, so the tests of the console are skipped (on Debian: apt-get install chromium)"

# An idle worker takes tests from another one. Each file of console tests is one visit, step by step.
test-python: setup chromium
	$(BIN)/python -m pytest -q --numprocesses=auto --maxprocesses=4 --dist=worksteal --ignore=tests/console
	for visit in tests/console/test_*.py; do $(BIN)/python -m pytest -q $$visit || exit 1; done

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

# Each is installed separately, from its registry: an engine that cannot be installed is missing from the tables, with a note.
# rsp-rs depends on RocksDB, which takes minutes to compile.
PEERS := benchmarks/peers
PEERS_CARGO := cargo build --locked --release --manifest-path $(PEERS)/rust/Cargo.toml --target-dir $(PEERS)/rust/target
bench-peers:
	-mvn -q -B -f $(PEERS)/java package
	-$(PYTHON) -m venv $(PEERS)/python/.venv && $(PEERS)/python/.venv/bin/pip install -q -r $(PEERS)/python/requirements.txt
	-$(PEERS_CARGO) -p whorl-peers-differential
	-LIBCLANG_PATH=$$(echo $(CURDIR)/$(PEERS)/python/.venv/lib/python3*/site-packages/clang/native) \
	BINDGEN_EXTRA_CLANG_ARGS=-I$$(cc -print-file-name=include) $(PEERS_CARGO) -p whorl-peers-rsp

bench-programs: setup bench-peers
	cargo bench --locked --no-run -p whorl-engine --bench papers

# At most ten minutes; docs/performance.md is generated from it. The figures are kept in benchmarks/results/quick.json:
# `whorl bench --compare benchmarks/results/quick.json NEW` compares a later run with them.
bench-quick: bench-programs
	$(BIN)/whorl bench --quick --out benchmarks/results/quick.json --report docs/performance.md

bench: bench-programs
	$(BIN)/whorl bench --full --report docs/performance.md
	cargo bench --locked -p whorl-engine
	$(BIN)/python benchmarks/http_ingest.py
	$(BIN)/python benchmarks/ws_fanout.py
	$(BIN)/python benchmarks/recovery.py
	$(BIN)/python benchmarks/spark_sink.py
	$(BIN)/python benchmarks/spark_scale.py

# One line for each step, and a ready URL last. The demo stores its data in whorl-data; PORT=… selects another port.
run:
	@$(MAKE) --no-print-directory --jobs=2 ENGINE_PROFILE=quick PACKAGES_STAMP=$(RUN_STAMP) runnable
	@$(BIN)/whorl serve --demo $(if $(PORT),--port $(PORT))

runnable: $(ENGINE_STAMP) $(CLIENT_STAMP) $(WEB_STAMP)

docs: $(DEPS_STAMP)
	$(BIN)/python docs/site/build_site.py build/docs

screenshots: setup chromium
	$(BIN)/python tests/console/screenshots.py

docs-engine:
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
	$(BIN)/pip-compile --quiet --extra run --strip-extras --no-header --no-annotate --find-links build/lock --constraint requirements-dev.lock \
		--unsafe-package pip --unsafe-package setuptools --unsafe-package whorl-client --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
		--output-file requirements-run.lock pyproject.toml
	rm -rf clients/python/build

# --- packaging ---

# Two builds of one commit are the same bytes: timestamps are those of the commit, and no path of this machine is included.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
# Which systems the wheel is for. Empty: those with the glibc of this machine or a newer one; 2_17: all that Rust supports,
# by zig's linker, which comes from the package index.
MANYLINUX ?=
WHEEL_FLAGS := --profile wheel --out dist $(if $(MANYLINUX),--zig --compatibility manylinux_$(MANYLINUX))

# A wheel without the console must not be distributed.
wheels: export WHORL_CONSOLE := required
wheels: export SOURCE_DATE_EPOCH := $(SOURCE_DATE_EPOCH)
# A separate directory, because other flags would make `make setup` build everything again.
wheels: export CARGO_TARGET_DIR := $(CURDIR)/target/wheels
wheels: export RUSTFLAGS := --remap-path-prefix=$(CURDIR)=/whorl --remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=/cargo
wheels: $(DEPS_STAMP) $(WEB_STAMP)
	rm -rf dist/whorl-*.whl dist/whorl_client-*.whl clients/python/build
	$(if $(MANYLINUX),$(BIN)/python -m pip install --quiet --disable-pip-version-check ziglang)
	VIRTUAL_ENV=$(CURDIR)/$(VENV) PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/maturin build $(WHEEL_FLAGS)
	$(BIN)/python -m build --wheel --outdir dist clients/python
	rm -rf clients/python/build

# Uses the wheels in dist/, and builds them if there are none.
wheel-test: $(DEPS_STAMP)
	ls dist/whorl-*.whl dist/whorl_client-*.whl >/dev/null 2>&1 || $(MAKE) wheels
	$(BIN)/python tests/packaging/wheel_check.py dist

# Builds the same commit again, in another directory and from scratch: the bytes must equal those in dist/.
wheel-repeat:
	rm -rf build/repeat
	git clone --quiet . build/repeat
	$(MAKE) -C build/repeat wheels
	cd dist && sha256sum whorl-*.whl whorl_client-*.whl > ../build/wheels.sha256
	cd build/repeat/dist && sha256sum --check ../../wheels.sha256

# Needs buildah and debootstrap, and the rights to use them; the images are tagged whorl:test and whorl-spark:test.
# With WHEELS=dist it uses those wheels and builds none.
WHEELS ?=
image-test: $(CLIENT_STAMP)
	$(BIN)/python tests/packaging/image_check.py $(if $(WHEELS),--wheels $(WHEELS))

# In a separate environment, because the tools are not part of what they audit.
AUDIT_VENV := .venv-audit
$(AUDIT_VENV)/.stamp: requirements-audit.txt
	$(PYTHON) -m venv $(AUDIT_VENV)
	$(AUDIT_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-audit.txt
	touch $@

# Needs docker compose or docker-compose; with promtool it checks more.
compose-check: $(AUDIT_VENV)/.stamp
	PATH=$(CURDIR)/$(AUDIT_VENV)/bin:$$PATH $(PYTHON) tests/packaging/compose_check.py

# Advisories come from network services; without access to them this fails with a message. audit-offline does the rest.
# Both run, whatever the result of the first one.
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
	rm -rf server/whorl/_engine*.so server/whorl/server/web-dist server/web/node_modules
