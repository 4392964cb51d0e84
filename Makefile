# Every target sets up what it needs. `make help` lists them.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN := .venv/bin
READY := .venv/.ready
TEST_LOG := .venv/test.log
WEB_READY := web/node_modules/.ready
STATIC := src/pollux/_static/pollux.js
UV_VERSION := 0.13.7

# The pins are complete and hashed, so pip has nothing to resolve; --no-deps makes that a promise.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PIN := $(BIN)/uv pip compile pyproject.toml --all-extras --no-config --quiet --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(READY) ## Make .venv with every extra and the pinned development tools

$(READY): requirements/dev.txt pyproject.toml src/pollux/_version.py
	@echo "Setting up .venv with the pinned dependencies: a minute or two, once …"
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { python=$$(scripts/find-python) && "$$python" -m venv --clear .venv; }
	$(PIP_INSTALL) --require-hashes --no-deps -r requirements/dev.txt
	$(PIP_INSTALL) --no-deps --no-build-isolation --editable '.[all]'
	@touch $@

# What pages get from the server is built from web/ and not checked in; wheels carry it.
$(WEB_READY): web/package.json web/package-lock.json
	@echo "Installing what web/ is built with …"
	@scripts/install-web
	@touch $@

$(STATIC): $(WEB_READY) web/build.mjs $(shell find web/packages -path '*/src/*' -type f 2>/dev/null)
	cd web && node build.mjs

.PHONY: web
web: $(STATIC) ## Build the script that pages load

.PHONY: lint
lint: lint-python lint-web ## Formatting, lint and types, of Python and TypeScript

.PHONY: lint-python
lint-python: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright

.PHONY: lint-web
lint-web: $(WEB_READY)
	cd web && npm run --silent check

.PHONY: test-web
test-web: lint-web
	cd web && npm test --silent

.PHONY: format
format: $(READY) ## Rewrite the source in the house's format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# Tests start the program hundreds of times, and each start would compile all of it anew.
unexport PYTHONDONTWRITEBYTECODE

# Tracing doubles the time of a test, so only those run traced that reach the two packages with a threshold directly.
TRACED := tests/core tests/engine tests/dispatch
# More than there are cores: much of what takes long waits, for a disk or a process that it started.
PYTEST := $(BIN)/pytest -n 4 --dist worksteal

# The closing lines of both come last, so that they tell what ran.
.PHONY: test
test: $(READY) $(STATIC) ## Everything that must hold before a change is sent
	@$(MAKE) --no-print-directory --output-sync -j 2 lint-python test-web
	@scripts/system-packages strace bwrap=bubblewrap zsh fish chromium pg_ctlcluster=postgresql pgbouncer
	$(PYTEST) $(TRACED) --cov --cov-report= | tee $(TEST_LOG)
	@$(BIN)/python scripts/check_coverage.py
	$(PYTEST) $(TRACED:%=--ignore=%) | tee -a $(TEST_LOG)
	@grep -E '^=+ .* in [0-9.]+s' $(TEST_LOG)

# Ctrl-C is how one leaves it: no error to tell of.
.PHONY: demo
demo: $(READY) $(STATIC) ## Try it without a key
	@$(BIN)/pollux demo || [ $$? -eq 130 ]

.PHONY: first-time
first-time: $(READY) ## Time the way from a clone to the first approved action
	$(BIN)/python scripts/first_time.py

.PHONY: bench
bench: $(READY) ## Measure against the floor and print the table
	@[ -f benchmarks/run.py ] || { echo "benchmarks/run.py is missing: there is nothing to measure yet" >&2; exit 2; }
	$(BIN)/python benchmarks/run.py

.PHONY: bench-http
bench-http: $(READY) ## Hundreds of streams at once, readers who stall and readers who vanish
	$(BIN)/python benchmarks/http_load.py

.PHONY: bench-hosts
bench-hosts: $(READY) ## A server and workers on PostgreSQL beside the embedded store
	$(BIN)/python benchmarks/hosts.py

.PHONY: bench-peers
bench-peers: $(READY) ## The same agent in Pollux and in five other frameworks
	$(BIN)/python benchmarks/peers/run.py --setup
	$(BIN)/python benchmarks/peers/run.py

.PHONY: interop
interop: $(READY) $(STATIC) ## Real peers from public registries
	@scripts/run-marked interop

.PHONY: soak
soak: $(READY) ## The large version of every promise; takes long
	@scripts/system-packages strace bwrap=bubblewrap
	POLLUX_HYPOTHESIS_PROFILE=soak $(BIN)/pytest tests/core -q -n 2
	for suite in core paths commands; do $(BIN)/python scripts/mutation.py $$suite; done
	@scripts/run-marked soak

.PHONY: docs-reference
docs-reference: $(READY) ## Regenerate docs/reference from the source
	$(BIN)/python -m pollux.config > docs/reference/settings.md
	$(BIN)/python scripts/reference.py

.PHONY: site
site: $(READY) ## Build the documentation as a site, in build/site
	$(BIN)/python scripts/build_site.py

.PHONY: pins
pins: $(READY) ## Resolve the dependencies again; `make pins UPGRADE=1` takes newer versions
	$(PIP_INSTALL) 'uv==$(UV_VERSION)'
	$(PIN) $(if $(UPGRADE),--upgrade) --output-file requirements/runtime.txt
	$(PIN) $(if $(UPGRADE),--upgrade) --group dev --constraint requirements/runtime.txt --output-file requirements/dev.txt

.PHONY: clean
clean: ## Remove what the targets made
	rm -rf web/node_modules src/pollux/_static .venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage* build dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
