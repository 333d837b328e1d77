"""Fixtures: engines, kernels, containers, data."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from manyview.engines.memory import InMemory
from manyview.engines.streaming import Streaming
from manyview.kernels import choose_kernels
from manyview.kernels.block import CHUNK_ROWS

settings.register_profile(
    "default", max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
# a change is judged by the same cases twice; `make fuzz` draws new ones
settings.register_profile(
    "ci", parent=settings.get_profile("default"), max_examples=100, derandomize=True
)
settings.register_profile("explore", parent=settings.get_profile("default"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_collection_modifyitems(items):
    """Tests that want the benchmark files are marked so, and count as slow."""
    for item in items:
        if "data_home" in item.fixturenames:
            item.add_marker(pytest.mark.data)
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


ENGINES = {
    "memory": InMemory,
    "memory, a block a chunk": partial(InMemory, block_rows=CHUNK_ROWS),
    "stream": Streaming,
    "stream, a block a chunk, little memory": partial(
        Streaming, memory_limit=3.2e6, block_rows=CHUNK_ROWS
    ),
}


@pytest.fixture(params=ENGINES)
def engine(request):
    """Every engine on the host; all contract tests run on each."""
    return ENGINES[request.param](choose_kernels("cpu"))


@pytest.fixture(params=["torch", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    """Every device of torch; skipped where torch or the device is missing."""
    torch = pytest.importorskip("torch")
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("torch finds no GPU")
    return request.param


@pytest.fixture
def data_home():
    """The folder of the benchmark files; where there is none, the test is skipped and says why."""
    folder = os.environ.get("MANYVIEW_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("MANYVIEW_DATA does not name a folder with the benchmark files")
    return Path(folder)
