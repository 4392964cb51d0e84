# Every target sets up what it needs. `make help` lists them.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN := .venv/bin
READY := .venv/.ready
RUNTIME := .venv/.runtime
WEB_READY := web/node_modules/.ready
STATIC := src/pollux/_static/pollux.js
UV_VERSION := 0.13.7

PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PIN := $(BIN)/uv pip compile pyproject.toml --all-extras --no-config --quiet --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(READY) $(STATIC) ## Make .venv with every extra and the development tools, and build what browsers load

$(READY): requirements/dev.txt pyproject.toml src/pollux/_version.py
	@echo "Setting up .venv for development: a minute or two, once …"
	@scripts/install-python requirements/dev.txt
	@rm -f .venv/lib/python*/site-packages/pollux-source.pth
	@$(PIP_INSTALL) --no-deps --no-build-isolation --editable '.[all]'
# By a relative path: Python reads such a file in the locale's encoding, and fails where our path has letters beyond it.
	@printf '../../../../src\n' > "$$(echo .venv/lib/python*/site-packages)/_editable_impl_pollux.pth"
	@touch $@

# Who only tries it out needs no development tools.
$(RUNTIME): requirements/runtime.txt
	@scripts/install-python requirements/runtime.txt --no-compile
	@scripts/link-source
	@touch $@

# What pages get from the server is built from web/ and not checked in; wheels carry it.
$(WEB_READY): web/package.json web/package-lock.json
	@scripts/install-web
	@touch $@

$(STATIC): $(WEB_READY) web/build.mjs $(shell find web/packages -path '*/src/*' -type f 2>/dev/null)
	@echo "  Web: building what browsers load"
	@cd web && node build.mjs

.PHONY: web
web: $(STATIC) ## Build the script that pages load

.PHONY: lint
lint: lint-python lint-web ## Formatting, lint and types, of Python and TypeScript

.PHONY: lint-python
lint-python: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	scripts/check-types

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

# Tests start the program hundreds of times, and each start would compile all of it again.
unexport PYTHONDONTWRITEBYTECODE

RUN_TESTS := $(BIN)/python scripts/run_tests.py $(if $(DURATIONS),--durations)

.PHONY: test
test: $(READY) $(STATIC) test-programs ## What to run at every change: five minutes. DURATIONS=1 prints the slowest tests
	@$(RUN_TESTS) test

.PHONY: test-rest
test-rest: $(READY) $(STATIC) test-programs ## What make test-all has beyond make test
	@$(RUN_TESTS) rest

.PHONY: test-all
test-all: ## Everything that must hold before a change is sent: make test, then make test-rest whatever came of it
	@status=0; \
	$(MAKE) --no-print-directory test || status=1; \
	$(MAKE) --no-print-directory test-rest || status=1; \
	exit $$status

.PHONY: test-programs
test-programs:
	@scripts/system-packages strace bwrap=bubblewrap zsh fish chromium pg_ctlcluster=postgresql pgbouncer

# Ctrl-C is how one leaves it: no error to tell of.
.PHONY: demo
demo: ## Try it without a key
	@[ -e $(READY) ] || [ -e $(RUNTIME) ] || echo "Setting up what the demo needs: half a minute, once …"
	@$(MAKE) --no-print-directory -j 2 $(if $(wildcard $(READY)),$(READY),$(RUNTIME)) $(STATIC)
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
	for suite in core paths commands seal; do $(BIN)/python scripts/mutation.py $$suite; done
	@scripts/run-marked soak
	POLLUX_TEST_ORDER=$${POLLUX_TEST_ORDER:-$$RANDOM} scripts/run-marked "not slow and not soak and not interop" -n 3

.PHONY: docs-reference
docs-reference: $(READY) ## Regenerate docs/reference from the source
	$(BIN)/python -m pollux.config > docs/reference/settings.md
	$(BIN)/python scripts/reference.py

.PHONY: site
site: $(READY) ## Build the documentation as a site, in build/site
	$(BIN)/python scripts/build_site.py

# Whoever installs either has the console and the widget: what browsers load is built before, and by another target.
.PHONY: dist
dist: $(READY) ## Build the wheel, the sdist and their bill of materials (CycloneDX), in dist
	@for built in pollux.js console/index.html console/console.js; do \
		[ -f "src/pollux/_static/$$built" ] || { echo "src/pollux/_static/$$built is missing: run make web first" >&2; exit 2; }; \
	done
	@rm -rf dist
	@$(BIN)/python -m hatchling build --directory dist >/dev/null
	@$(BIN)/python scripts/sbom.py "dist/pollux-$$($(BIN)/python -m hatchling version).cdx.json"
	@ls dist

.PHONY: pins
pins: $(READY) ## Resolve the dependencies again; `make pins UPGRADE=1` takes newer versions
	$(PIP_INSTALL) 'uv==$(UV_VERSION)'
	$(PIN) $(if $(UPGRADE),--upgrade) --output-file requirements/runtime.txt
	$(PIN) $(if $(UPGRADE),--upgrade) --group dev --constraint requirements/runtime.txt --output-file requirements/dev.txt

.PHONY: clean
clean: ## Remove what the targets made
	rm -rf web/node_modules src/pollux/_static .venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage* build dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
