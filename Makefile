# make demo   installs into .venv and clusters the bundled digits
# make test   installs into .venv and runs the quick tests; make test-all runs all of them
# make docs   installs into .venv, runs the examples and builds the site
# make faults   kills the commands, fills disks, harms data; KILLS, FAULTS, INTERRUPTS, PROBLEMS
# make fuzz   draws new cases of the properties, sends 10 000 damaged files through the command
# make fuzz-guided   lets a fuzzer that sees the branches search the parsers, SECONDS for each
# make check-dist   builds the packages and runs the demo of the wheel in a clean environment
# make oldest, make newest   run the quick tests with the oldest and the newest dependencies
# make recipes   tests the recipes of docs/recipes.md with the libraries that they are about
# make torch   tests the kernels of a GPU on the CPU; make gpu tests them on a GPU
# make load   fits by the thousand, in threads and in processes; takes long
# make sbom, make audit   list what is installed with the package, and look for known weaknesses
VENV := .venv
ifeq ($(OS),Windows_NT)
PYTHON ?= python
SCRIPTS := Scripts
EXE := .exe
else
PYTHON ?= python3
SCRIPTS := bin
EXE :=
endif
BIN := $(VENV)/$(SCRIPTS)
CLEAN := build/clean
WORKERS ?= 2
CASES ?= 10000
SEED ?= 0
SECONDS ?= 180
KILLS ?= 1500
FAULTS ?= 200
INTERRUPTS ?= 50
PROBLEMS ?= 1000
PYTEST := $(SCRIPTS)/python -m pytest --numprocesses $(WORKERS) --dist loadfile

.PHONY: demo test test-all fuzz fuzz-guided omics recipes torch gpu docs lint types bench scoreboard dist check-dist clean oldest newest load sbom audit faults

demo: $(VENV)/installed
	$(BIN)/manyview demo

# a case of each kind, within three minutes on two cores
test: $(VENV)/installed-dev
	$(VENV)/$(PYTEST) -m "not slow"

# everything, also what needs the benchmark files of MANYVIEW_DATA and Chromium, where they are
test-all: $(VENV)/installed-dev
	$(VENV)/$(PYTEST)

# kills, interrupts, full disks and harmed data, random problems; takes two hours
faults: $(VENV)/installed-dev
	cd tests && ../$(BIN)/python -W ignore -m faults.kills --kills $(KILLS) --seed $(SEED)
	cd tests && ../$(BIN)/python -W ignore -m faults.files --faults $(FAULTS) --seed $(SEED)
	cd tests && ../$(BIN)/python -W ignore -m faults.interrupts --interrupts $(INTERRUPTS) --seed $(SEED)
	cd tests && ../$(BIN)/python -m faults.problems --problems $(PROBLEMS) --seed $(SEED)
	MANYVIEW_KILLS=1 $(BIN)/python -m pytest tests/engines/test_cluster_faults.py -k twenty

# one process; a case that fails is kept in build/fuzz and printed with what draws it again
fuzz: $(VENV)/installed-dev
	HYPOTHESIS_PROFILE=explore $(VENV)/$(PYTEST) tests/test_properties.py tests/test_extremes.py
	cd tests && ../$(BIN)/python -m fuzz.run --cases $(CASES) --seed $(SEED)

# in a place of its own: atheris has wheels for Linux and few versions of Python
fuzz-guided: $(VENV)-fuzz/installed
	cd tests && for target in manifest array mat5 text; do ../$(VENV)-fuzz/$(SCRIPTS)/python -m fuzz.coverage_guided $$target $(SECONDS) || exit 1; done

# in a place of its own: anndata wants an older pandas than the rest is tested with
omics: $(VENV)-omics/installed
	$(VENV)-omics/$(SCRIPTS)/python -m pytest tests/io/test_anndata.py tests/docs/test_ecosystem_page.py

# BERTopic alone, without the models of sentences that it would install
recipes: $(VENV)-recipes/installed
	$(VENV)-recipes/$(SCRIPTS)/python -m pytest tests/docs/test_recipes_page.py

# the kernels of a GPU on the CPU, in a place of its own: torch is large
torch: $(VENV)-torch/installed
	$(VENV)-torch/$(PYTEST) tests/kernels/test_tensors.py tests/engines/test_device.py

# the same on a GPU, with the torch that is there
gpu:
	$(PYTHON) -m pytest -m gpu tests/kernels/test_tensors.py tests/engines/test_device.py

# the minimums of pyproject.toml, which constraints/oldest.txt spells out
oldest: $(VENV)-oldest/installed
	$(VENV)-oldest/$(PYTEST) -m "not slow"

# the latest release of everything, looked up anew each time
newest: $(VENV)-newest/$(SCRIPTS)/python$(EXE)
	$(VENV)-newest/$(SCRIPTS)/python -m pip install --quiet --upgrade --upgrade-strategy eager --editable '.[test]'
	$(VENV)-newest/$(PYTEST) -m "not slow"

docs: $(VENV)/installed-docs
	rm -rf docs/api docs/gallery
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell src tests docs examples benchmarks README.md CONTRIBUTING.md CHANGELOG.md

types: $(VENV)/installed-dev
	$(BIN)/mypy

bench: $(VENV)/installed-dev
	$(BIN)/python -m benchmarks.speed.bench_fit --quick

load: $(VENV)/installed-dev
	$(BIN)/python -m benchmarks.load

# all methods on all sets of MANYVIEW_DATA, into docs/; takes hours, goes on where it stopped
scoreboard: $(VENV)/installed-dev
	$(BIN)/python -m benchmarks.quality.bench_quality

# the packages, in dist/: the wheel is built from what the source package holds
dist: $(VENV)-dist/installed
	rm -rf dist
	$(VENV)-dist/$(SCRIPTS)/python -m build --outdir dist .
	$(VENV)-dist/$(SCRIPTS)/python -m twine check --strict dist/*

# in a folder of its own, so that nothing of this one is imported
check-dist: dist
	rm -rf $(CLEAN)
	$(PYTHON) -m venv $(CLEAN)
	$(CLEAN)/$(SCRIPTS)/python -m pip install --quiet dist/*.whl
	cd $(CLEAN) && $(SCRIPTS)/python -m manyview --version && $(SCRIPTS)/manyview demo

# CycloneDX, of the package with its extras as a user installs it
sbom: $(VENV)-shipped/installed $(VENV)-supply/installed
	mkdir -p build
	$(VENV)-supply/$(SCRIPTS)/cyclonedx-py environment --pyproject pyproject.toml --mc-type library --output-reproducible --output-file build/sbom.json $(VENV)-shipped/$(SCRIPTS)/python$(EXE)

# asks the service of PyPI; a package that it cannot answer for is an error
audit: $(VENV)-shipped/installed $(VENV)-supply/installed
	mkdir -p build
	$(VENV)-shipped/$(SCRIPTS)/python -m pip freeze --exclude manyview > build/shipped.txt
	$(VENV)-supply/$(SCRIPTS)/pip-audit --strict --no-deps --disable-pip --requirement build/shipped.txt

clean:
	rm -rf $(VENV) $(VENV)-* dist manyview-demo build docs/api docs/gallery docs/sg_execution_times.rst

$(BIN)/python$(EXE):
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'manyview needs Python 3.11 or newer; this is ' + sys.version.split()[0] + '. Run: make PYTHON=python3.12 demo')"
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(BIN)/python$(EXE) pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[files]'
	touch $@

$(VENV)/installed-dev: $(BIN)/python$(EXE) pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/installed

$(VENV)-omics/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-omics
	$(VENV)-omics/$(SCRIPTS)/python -m pip install --quiet --editable '.[omics,plots,files]' pytest hypothesis polars scanpy igraph
	touch $@

$(VENV)-recipes/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-recipes
	$(VENV)-recipes/$(SCRIPTS)/python -m pip install --quiet --editable '.[plots,files,dask]' pytest hypothesis faiss-cpu lancedb cleanlab hdbscan plotly tqdm pyyaml
	$(VENV)-recipes/$(SCRIPTS)/python -m pip install --quiet --no-deps bertopic
	touch $@

$(VENV)-fuzz/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-fuzz
	$(VENV)-fuzz/$(SCRIPTS)/python -m pip install --quiet --editable '.[files]' atheris
	touch $@

$(VENV)-torch/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-torch
	$(VENV)-torch/$(SCRIPTS)/python -m pip install --quiet --editable '.[test]' torch==2.13.0
	touch $@

$(VENV)-oldest/installed: pyproject.toml constraints/oldest.txt
	$(PYTHON) -m venv --clear $(VENV)-oldest
	$(VENV)-oldest/$(SCRIPTS)/python -m pip install --quiet --constraint constraints/oldest.txt --editable '.[test]'
	touch $@

$(VENV)-newest/$(SCRIPTS)/python$(EXE):
	$(PYTHON) -m venv $(VENV)-newest

$(VENV)/installed-docs: $(BIN)/python$(EXE) pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[docs,files]'
	touch $@ $(VENV)/installed

$(VENV)-shipped/installed: pyproject.toml
	$(PYTHON) -m venv --clear $(VENV)-shipped
	$(VENV)-shipped/$(SCRIPTS)/python -m pip install --quiet '.[plots,files,fetch]'
	touch $@

$(VENV)-supply/installed:
	$(PYTHON) -m venv $(VENV)-supply
	$(VENV)-supply/$(SCRIPTS)/python -m pip install --quiet cyclonedx-bom pip-audit
	touch $@

$(VENV)-dist/installed:
	$(PYTHON) -m venv $(VENV)-dist
	$(VENV)-dist/$(SCRIPTS)/python -m pip install --quiet build twine
	touch $@
