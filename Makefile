# Every target makes its own .venv. Variables: PYTHON (3.11 or newer), TORCH_INDEX (an index with CPU
# wheels of PyTorch, where the default one has only the CUDA build), PIP_FLAGS.
PYTHON ?= python3
TORCH_INDEX ?=
PIP_FLAGS ?=

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install $(PIP_FLAGS) -c constraints.txt
RUN_DIR ?=

.PHONY: demo test lint fmt bench docs schema clean

demo: $(VENV)/.smoke
	@$(BIN)/openrecipes run qwen3.5-moe-mini/cpu/smoke-dp2 $(if $(RUN_DIR),--run-dir "$(RUN_DIR)")

# Fast tests on every core; the slow ones bring up clusters and browsers, one after another.
# Bytecode is kept whatever the caller's environment says: without, every program under test compiles its modules again.
test: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/.dev $(VENV)/.smoke $(VENV)/.ray $(VENV)/.browser lint
	@$(BIN)/python -m pytest -m "not slow" --numprocesses auto --dist worksteal $(PYTEST_FLAGS)
	@$(BIN)/python -m pytest -m slow $(PYTEST_FLAGS) || [ $$? -eq 5 ]  # 5: PYTEST_FLAGS chose none of these

lint: $(VENV)/.dev
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

fmt: $(VENV)/.dev
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

bench: $(VENV)/.dev
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

docs: $(VENV)/.dev
	@$(BIN)/python docs/generate.py

schema: docs

clean:
	rm -rf $(VENV)

# venv needs ensurepip, which some distributions package apart; virtualenv from pip does without.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; name one: make PYTHON=python3.12 …" >&2; exit 2; }
	@echo "making $(VENV)"
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || \
	  { rm -rf $(VENV); t=$$(mktemp -d); $(PYTHON) -m pip install --quiet --target $$t virtualenv && \
	    PYTHONPATH=$$t $(PYTHON) -m virtualenv --quiet $(VENV); s=$$?; rm -rf $$t; exit $$s; }
	@touch $@

$(VENV)/.core: $(VENV)/.made pyproject.toml constraints.txt
	@echo "installing openrecipes"
	@$(PIP) --editable .
	@touch $@

$(VENV)/.smoke: $(VENV)/.core
	@echo "installing the smoke trainer's torch and transformers (large where the index has only the CUDA build)"
	@$(if $(TORCH_INDEX),$(PIP) --index-url $(TORCH_INDEX) torch,:)
	@$(PIP) --editable '.[smoke]'
	@touch $@

# Tests that need it are left out where it cannot be had, and fail in CI.
$(VENV)/.ray: $(VENV)/.core
	@echo "installing Ray for the tests of launches"
	@$(PIP) --editable '.[cluster-test]' && touch $@ || echo "Ray is not to be had here"

$(VENV)/.browser: $(VENV)/.core
	@echo "installing Playwright and axe-core for the tests of the site"
	@$(PIP) --editable '.[browser-test]' && touch $@ || echo "Playwright is not to be had here"

$(VENV)/.dev: $(VENV)/.core
	@echo "installing the development tools"
	@$(PIP) --editable '.[dev]'
	@touch $@
