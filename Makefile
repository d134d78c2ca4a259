# `make train` and `make test` set everything up themselves: all they need is Python 3.11 or later and a package index.

# The first that runs and is recent enough: not every name on the PATH does, and not every shell's `command -v` takes several.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3.14 python3; do \
	$$python -c '$(NEW_ENOUGH)' 2>/dev/null && command -v $$python && break; done)
MINUTES ?= 3
PLAYERS ?= 2-5
LEARNER ?= zero
SEED ?= 0
WORKERS ?= 2
LEAGUE ?= runs/league
CURVES ?= runs/curves
PIP_ARGS ?=
GAME := rules_2_setup rules_3_course rules_4_actions rules_4_sales_and_tokens rules_5_end twin observe observation_layout \
	game game_chance state random_streams value_net

BIN := .venv/bin
INSTALL = PIP_CONSTRAINT=constraints.txt $(BIN)/pip install --quiet --disable-pip-version-check $(PIP_ARGS)

.PHONY: train curves test slow lint compiled interpreted package trainers coverage bench leaderboard balance balance-check pages docs clean

# `zero` learns from the rules alone. LEARNER=ppo is PPO, which installs PyTorch.
train: .venv/.$(LEARNER)
	$(BIN)/bombay train $(LEARNER) --minutes $(MINUTES) --players $(PLAYERS) --seed $(SEED)

# The README's picture: three seeds of `zero`, then PPO, in 20 minutes on two idle cores, beside the run of the shipped net.
# CURVES must be a new folder. The picture replaces the one in the checkout.
curves: .venv/.test
	for seed in 0 1 2; do \
		$(BIN)/bombay train zero --minutes $(MINUTES) --players $(PLAYERS) --seed $$seed --out $(CURVES)/zero-seed$$seed || exit 1; \
	done
	$(BIN)/bombay train ppo --threads $(WORKERS) --minutes $(MINUTES) --players $(PLAYERS) --seed $(SEED) --out $(CURVES)/ppo
	$(BIN)/python -m docs.generate --learning $(CURVES)

# Everything that must hold of a change: on an empty kernel cache, installation aside, ten to fifteen minutes on two cores. While
# some tests wait for other processes and for the network, others compute.
test: .venv/.test
	$(MAKE) --no-print-directory --jobs 2 compiled lint package interpreted

lint: .venv/.test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

compiled: .venv/.test
	$(BIN)/bombay warm-up  # first, so that the processes of the tests do not compile the same kernels
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal

# The game itself with the compiler off, where an index out of range is an error, and what inside kernels can be seen only so: draws of
# random streams, and the accumulator cache. The rest takes minutes this way: `make coverage`.
interpreted: .venv/.test
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -q \
		$(foreach name,$(GAME),$(or $(wildcard tests/*/test_$(name).py tests/*/*/test_$(name).py),$(error no test_$(name).py)))

# The distributions: built, installed into empty environments and played from there.
package: .venv/.test
	$(BIN)/pytest -q -m package

# Other people's trainers and tools, each in an environment of its own that uv makes; it downloads gigabytes and takes an hour.
trainers: .venv/.test
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pytest -q -m trainers

# The whole suite with the compiler off, as only so the lines of kernels are seen; measuring doubles the time.
coverage: .venv/.test
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -q -n $(WORKERS) --dist worksteal --cov --cov-report=term

# Long proofs, hours on two cores; first the whole suite with the compiler off.
slow: coverage
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal -m slow

# How fast it is here, beside other environments; minutes, and the machine should have nothing else to do.
bench: .venv/.bench
	$(BIN)/python -m benchmarks

# The league of docs/leaderboard.md: hours on two idle cores. A league that was stopped continues where it was. Times are measured with
# one process; MACHINE says on what. The games and the page replace those in the checkout.
STUDY := training/bombay_training/studies/league.toml
PUBLISHED := training/bombay_training/league
leaderboard: .venv/.test
	@test -n "$(MACHINE)" || { echo 'Name the machine: make leaderboard MACHINE="an Intel N100"' >&2; exit 1; }
	$(BIN)/bombay run $(STUDY) --processes $(WORKERS) --out $(LEAGUE)
	$(BIN)/bombay run $(STUDY) --processes 1 --deals 1 --out $(LEAGUE)-times
	rm -rf $(PUBLISHED)
	$(BIN)/python -m docs.generate --publish $(LEAGUE) $(LEAGUE)-times "$(MACHINE), one process, $(shell date +%F)"
	$(BIN)/bombay leaderboard --out docs/leaderboard.md

# The study of docs/fairness.md: about an hour on two idle cores. One that was stopped continues.
BALANCE := runs/balance
balance: .venv/.test
	$(BIN)/bombay balance --processes $(WORKERS) --out $(BALANCE)
	mkdir -p docs/balance
	cp $(BALANCE)/report.json $(BALANCE)/report.md docs/balance/

# The self-test of its verdicts and intervals by simulation.
balance-check: .venv/.test
	$(BIN)/pytest -q -n $(WORKERS) -m slow tests/training/reports/test_fairness.py

# The generated pages and tables.
pages: .venv/.test
	$(BIN)/python -m docs.generate

# The documentation site; warnings are errors.
docs: .venv/.docs
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env --conf-dir docs --doctree-dir docs/_build/doctrees . docs/_build/html
	@echo "The site is in docs/_build/html; open its index.html."

clean:
	rm -rf .venv dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage

.venv/.made:
	@test -n "$(PYTHON)" && "$(PYTHON)" -c '$(NEW_ENOUGH)' || \
		{ echo "bombay_env needs Python 3.11 or later; name one with PYTHON=…" >&2; exit 1; }
	"$(PYTHON)" -m venv .venv
	@touch $@

# Matplotlib draws the learning curve.
.venv/.zero: .venv/.made pyproject.toml constraints.txt
	$(INSTALL) --editable . matplotlib
	@touch $@

.venv/.ppo: .venv/.made pyproject.toml constraints.txt
	@echo "Installing what training needs, PyTorch among it; the first time takes minutes."
	$(INSTALL) --editable '.[ppo]' matplotlib
	@touch $@

.venv/.test: .venv/.made pyproject.toml constraints.txt
	@echo "Installing what the tests need, PyTorch among it; the first time takes minutes."
	$(INSTALL) --editable '.[ppo,dev,analysis,human,play,llm,data,ray,trainers,docs]'
	@touch $@

.venv/.docs: .venv/.made pyproject.toml constraints.txt
	@echo "Installing what the documentation site needs."
	$(INSTALL) --editable '.[docs]'
	@touch $@

.venv/.bench: .venv/.made pyproject.toml constraints.txt
	@echo "Installing what the benchmark compares with, PyTorch and JAX among it; the first time takes minutes."
	$(INSTALL) --editable '.[ppo,peers]'
	@touch $@
