# `make demo` and `make test` set up all they need: Python 3.10+, a C++ compiler and, for Spark, Java 17+ are enough.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
COMPILED := $(shell find kcodec -name '*.pyx' -o -name '*.pxd' -o -name '*.h')

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test thorough lint docs fuzz chaos spark-faults soak debug bench history clean

help:
	@echo 'make demo     show what kcodec does: plain Python, Spark, Spark Connect (ROWS=200000)'
	@echo 'make test     run the tests of a change (ARGS="-k name" for some)'
	@echo 'make thorough run all tests, those too that take long for what they find'
	@echo 'make lint     ruff, cython-lint, mypy'
	@echo 'make docs     build the documentation site in build/site'
	@echo 'make fuzz     fuzz each target under sanitizers (SECONDS=60; needs clang)'
	@echo 'make chaos    three brokers under faults, all work on them checked (SECONDS=600 SEED=1)'
	@echo 'make spark-faults  a stream on two Spark workers under faults, into five sinks (TIMES=1 SINKS="files Delta")'
	@echo 'make soak     hours of work, after which memory, files and threads are as before (HOURS=1)'
	@echo 'make debug    rebuild with bounds checks, debug symbols and annotated C (undo: make clean)'
	@echo 'make bench    run the benchmarks of asv_bench'
	@echo 'make history  run them on ten past commits, for the site (RANGE=main~300..main STEPS=10)'
	@echo 'make clean    remove everything that was built, .venv included'

$(RUN):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo 'kcodec needs Python 3.10 or newer; name one: make PYTHON=/path/to/python3'; exit 1; }
	$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo 'Python cannot make a virtual environment; on Debian and Ubuntu: apt install python3-venv'; exit 1; }

# Compiled once for all extras, and in place, so that tests, Spark's workers and the console script see this checkout.
$(VENV)/built.stamp: pyproject.toml setup.py $(COMPILED) | $(RUN)
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# One stamp for each set of extras that has been installed since then; dev has all the others.
$(VENV)/%.stamp: $(VENV)/built.stamp
	$(RUN) -m pip install --quiet --disable-pip-version-check 'kcodec[$*]'
	@touch $@ $(if $(filter dev,$*),$(foreach extra,demo test bench sanitize,$(VENV)/$(extra).stamp))

demo: $(VENV)/demo.stamp
	$(VENV)/bin/kcodec demo $(if $(ROWS),--rows $(ROWS))

# Four workers keep two cores busy: those of Spark and of the services wait a lot. Chosen tests run in one process.
# Spark's workers import the packages hundreds of times: what is compiled is kept, whatever the environment says.
# Unless tests are chosen, some are left to `make thorough`, which has all: tests/conftest.py says which.
test thorough: export PYTHONDONTWRITEBYTECODE =
test: export KCODEC_QUICK = $(if $(ARGS),,1)
test: $(VENV)/test.stamp $(VENV)/spark.jsa
	$(RUN) -m pytest $(or $(ARGS),--numprocesses=4)

thorough: $(VENV)/test.stamp $(VENV)/spark.jsa
	$(RUN) -m pytest --numprocesses=4

# Made once, as far as there is Java: each of the many JVMs of the tests then starts with half the work.
$(VENV)/spark.jsa: tests/spark/archive.py | $(VENV)/test.stamp
	-@$(RUN) $< $@ >/dev/null 2>&1

lint: $(VENV)/dev.stamp
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" cython-lint kcodec
	$(RUN) -m mypy

docs: $(VENV)/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --strict --quiet
	@echo 'build/site/index.html'

fuzz: $(VENV)/fuzz.stamp
	.ci/fuzz $(or $(SECONDS),60) $(TARGETS)

chaos: $(VENV)/test.stamp
	$(RUN) tests/cluster/chaos.py --seconds=$(or $(SECONDS),600) $(if $(SEED),--seed=$(SEED))

spark-faults: $(VENV)/test.stamp
	$(RUN) tests/services/spark_cluster/spark_faults.py --times=$(or $(TIMES),1) $(if $(SINKS),--sinks $(SINKS))

soak: $(VENV)/test.stamp
	$(RUN) tests/cluster/soak.py --hours=$(or $(HOURS),1)

debug: $(VENV)/dev.stamp
	rm -rf build/cython
	KCODEC_DEBUG=1 $(RUN) setup.py build_ext --inplace --force
	@echo 'Annotated C: build/cython/kcodec/**/*.html'

bench: $(VENV)/bench.stamp
	cd asv_bench && ../$(VENV)/bin/asv machine --yes && ../$(VENV)/bin/asv run --python=same --quick --show-stderr

history: $(VENV)/bench.stamp
	cd asv_bench && ../$(VENV)/bin/asv machine --yes && \
	  ../$(VENV)/bin/asv run --steps $(or $(STEPS),10) --skip-existing-commits $(or $(RANGE),main~300..main)

clean:
	rm -rf $(VENV) build dist *.egg-info asv_bench/.asv .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find kcodec -name '*.so' -delete
