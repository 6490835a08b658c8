# make demo and make test are what the README promises; each sets up .venv first when it is not there.
PYTHON ?= python3.11
BIN := .venv/bin
READY := .venv/.ready
# Processes of the tests: one more than cores, since half of their time they wait for other processes; at most four.
JOBS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); [ $$n -lt 4 ] && echo $$((n + 1)) || echo 4)
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

export PYTHONPATH := tests/rig

.PHONY: beside-master salt-gateway-tests docs example packages packages-test containers-test forge-descriptions attack predictions salt-tests second-opinion structure fuzz states soak help demo test check lint types contracts bytecode e2e bench oracle lock wheel clean
.DEFAULT_GOAL := help

help: ## show this
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /  make \1\t/' | expand -t 20

$(READY): requirements.lock pyproject.toml
	@echo "setting up .venv (once)"
	@command -v $(PYTHON) >/dev/null || { echo "Saltern needs Python 3.11 or later; name it: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -m venv .venv
	@$(PIP) install --require-hashes -r requirements.lock
	@$(PIP) install --no-build-isolation --no-deps -e .
	@touch $@

# As pip does for an installation. Where PYTHONDONTWRITEBYTECODE is set, each process would compile the whole program.
bytecode: $(READY)
	@$(BIN)/python -m compileall -q -j 0 controller gateway gitfs reactors highstate matching wire minion options extmods saltern tests/rig tools

demo: bytecode ## a controller and three minions on this machine, from push to drift healed
	@$(BIN)/python -m tools.demo

example: bytecode ## an example of examples/ on this machine, as its README says; NAME=drift
	@$(BIN)/python -m tools.examples $(NAME)

test: bytecode ## the tests, on up to four cores (those that change the machine are skipped; see e2e); JOBS=1
	@$(BIN)/pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder -m "not alone and not e2e"
	@$(BIN)/pytest -m "alone or e2e" $$(grep -rlE 'mark\.(alone|e2e)\b' tests --include='test_*.py')

e2e: bytecode ## tests that install packages and run services on this machine; as root
	@SALTERN_E2E=1 $(BIN)/pytest -m "e2e or fresh_root" -rs

soak: bytecode ## what the suite only samples, in full: kills at every step, drawn examples, 50,000 files
	@SALTERN_SOAK=1 $(BIN)/pytest $$(grep -rlE '^(from|import) effort' tests --include='test_*.py')
	@[ "$$(id -u)" != 0 ] || SALTERN_E2E=1 SALTERN_SOAK=1 $(BIN)/pytest -m fresh_root $$(grep -rlE '^(from|import) effort' tests --include='test_*.py')

check: lint types contracts test ## all that a commit must pass

lint: $(READY) ## ruff: format and lint
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

types: $(READY) ## mypy --strict
	@$(BIN)/mypy

contracts: $(READY) ## import-linter: the direction of imports
	@$(BIN)/lint-imports --no-logo

forge-descriptions: $(READY) ## what the forges publish of their APIs (npm), for the tests of their clients
	@$(BIN)/python -m tools.forge_descriptions

bench: bytecode ## benchmarks; ONLY=path for one of them
	@$(BIN)/python -m tools.bench $(if $(ONLY),--only $(ONLY))

oracle: $(READY) ## compare the goldens with real Salt, in an environment of its own
	@$(BIN)/python -m tools.oracle
	@$(BIN)/python -m tools.oracle.runs.goldens
	@$(BIN)/python -m tools.oracle.runs.goldens --drawn 200
	@$(BIN)/python -m tools.oracle.orchestrations --check
	@$(BIN)/python -m tools.oracle.progress --check

second-opinion: $(READY) ## public formulas by Saltern and by real Salt on roots to throw away; as root; FORMULAS=DIR ONLY=nginx
	@$(BIN)/python -m tools.second_opinion $(ONLY)

beside-master: $(READY) ## trees on stock salt-minions under a salt-master and under the gateway; SALT_VENV=DIR ONLY=requisites
	@$(BIN)/python -m tools.oracle.beside_master $(ONLY)

salt-tests: $(READY) ## Salt's own tests of states and modules by Saltern; as root; SALT=DIR (its source package) ONLY=states/file
	@$(BIN)/python -m tools.oracle.salts_tests $(SALT) $(ONLY)

salt-gateway-tests: $(READY) ## Salt's own integration tests of minions at a controller with the gateway; as root; SALT=DIR ONLY=integration/minion
	@$(BIN)/python -m tools.oracle.salts_gateway_tests $(SALT) $(ONLY)

docs: $(READY) ## the documentation as a site in dist/site; it needs no server and no network
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "the documentation is in $(CURDIR)/dist/site: open file://$(CURDIR)/dist/site/index.html in a browser"

states: $(READY) ## docs/states.md from a run of every state on this machine; as root
	@$(BIN)/python -m tools.docs.states_table

structure: $(READY) ## sizes and dependencies of the code, against their limits
	@$(BIN)/python -m tools.structure

fuzz: $(READY) ## any bytes through the language; SECS=600 TARGET=yaml
	@$(BIN)/python -m tools.fuzz --seconds $(or $(SECS),60) $(if $(TARGET),--target $(TARGET))

predictions: $(READY) ## previews of random edits against what their merge then does; EDITS=200 SEED=1
	@$(BIN)/python -m tools.predictions --edits $(or $(EDITS),200) --seed $(or $(SEED),1)

attack: $(READY) ## attacks on a running controller, and what honest minions see meanwhile; ONLY=strangers
	@$(BIN)/python -m tools.attack $(if $(ONLY),--only $(ONLY))

lock: ## renew requirements.lock from pyproject.toml (hashes, no index addresses)
	@$(PYTHON) -m venv .cache/lock && .cache/lock/bin/pip install -q pip-tools
	@.cache/lock/bin/pip-compile -q --extra controller --extra dev --generate-hashes --no-header --strip-extras \
	  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host -o requirements.lock pyproject.toml

wheel: $(READY) ## build dist/saltern-VERSION-py3-none-any.whl
	@$(PIP) wheel --no-build-isolation --no-deps -w dist .

packages: $(READY) ## Debian packages and RPMs of this tree in dist/, where dpkg-deb and rpmbuild are
	@$(BIN)/python -m tools.packages

packages-test: bytecode ## the packages, built, installed and run on roots to throw away; as root
	@SALTERN_E2E=1 SALTERN_PACKAGES=1 $(BIN)/pytest -rs -s tests/e2e/test_packages.py

containers-test: bytecode ## the image and the compose file, built and run by podman; as root
	@SALTERN_E2E=1 SALTERN_CONTAINERS=1 $(BIN)/pytest -rs -s tests/e2e/test_compose.py

clean: ## remove .venv and caches
	@rm -rf .venv .cache dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
