"""The benchmarks of speed: what they compute, by hand and on tiny sizes."""

import json
import os
import time

import numpy as np
import pandas as pd
import pytest

from benchmarks.measuring import (
    apart,
    end_after,
    exponent,
    fastest,
    iteration_times,
    machine,
    peak_of,
)
from benchmarks.speed import (
    bench_engines,
    bench_kernels,
    bench_memory,
    bench_peers,
    bench_scaling,
    bench_wide,
    make_plots,
)
from benchmarks.speed.bench_engines import Job
from benchmarks.speed.bench_scaling import Size
from benchmarks.speed.peers import PEERS, Peer
from manyview import OMVCDR
from manyview.datasets import make_multiview_blobs
from manyview.kernels import row_space


def test_an_exponent_is_the_slope_of_all_points():
    assert exponent([1, 2, 4, 8], [3, 6, 12, 24]) == pytest.approx(1)
    assert exponent([1, 10], [5, 500]) == pytest.approx(2)


def test_actions_are_timed_in_turns_after_one_that_compiles():
    calls = []
    seconds = fastest([lambda: calls.append("a"), lambda: calls.append("b")], 2)
    assert calls == ["a", "b"] * 3
    assert len(seconds) == 2


def test_each_iteration_on_all_rows_has_a_time():
    ticks = iter(range(1000))
    data = make_multiview_blobs(200, (8, 9), n_clusters=4, separation=1, random_state=0).data
    model = OMVCDR(4, scale=None, n_init=1, max_iter=3, tol=0, random_state=0)
    times = iteration_times(model, data, lambda: next(ticks))
    assert times == [1] * model.n_iter_


def test_a_fit_may_end_before_its_labels_rest():
    data = make_multiview_blobs(200, (8, 9), n_clusters=4, separation=1, random_state=0).data
    model = OMVCDR(4, scale=None, n_init=1, max_iter=2, tol=0, random_state=0)
    assert len(iteration_times(model, data, n_samples=200)) == 2
    assert not hasattr(model, "labels_")
    assert len(iteration_times(model, data, n_samples=100)) == 2  # the wrong number: to the end
    assert hasattr(model, "labels_")


def test_the_peak_holds_what_was_freed_again():
    result, cost = peak_of(lambda: np.ones(10**7).sum())
    assert result == 10**7
    assert 0.9 * 8e7 < cost["peak_bytes"] < 1.5 * 8e7
    assert cost["seconds"] > 0


def stop_at_once() -> dict:
    end_after(0.05)
    time.sleep(60)
    return {}


@pytest.mark.slow
def test_a_process_tells_what_became_of_it():
    assert apart(dict, [("a", 1)]) == {"status": "done", "reason": "", "a": 1}
    failed = apart(json.loads, "no JSON")
    assert failed["status"] == "failed"
    assert failed["reason"].startswith("json.decoder.JSONDecodeError: Expecting value")
    assert apart(os._exit, 3)["reason"].startswith("the process ended with code 3")
    assert apart(stop_at_once)["status"] == "stopped"


def test_a_row_says_where_it_was_measured():
    columns = machine()
    assert set(columns) == {"machine", "load", "threads", "versions"}
    assert f"numpy {np.__version__}" in columns["versions"]


def test_every_kernel_stands_beside_its_bound():
    table = bench_kernels.measure(3, "float32", 200, 1)
    kernels = ["project", "accumulate", "moments", "embed", "nearest", "assign"]
    assert list(table["kernel"]) == kernels
    assert (table["ratio"] > 0).all()
    np.testing.assert_allclose(table["ratio"], table["seconds"] / table["bound_seconds"])
    bare = table["bound_seconds"].iloc[:2].sum()  # project and accumulate
    np.testing.assert_allclose(table["of_products"], table["seconds"] / bare)


def test_the_sweep_that_is_timed_finds_the_wrong_labels():
    case = bench_kernels.make_case(4, "float64", 2000)
    right = make_multiview_blobs(
        2000, bench_kernels.WIDTHS, n_clusters=4, random_state=np.random.default_rng(0)
    ).target
    n_wrong = np.sum(case.block.labels != right)
    assert n_wrong > 0
    assert bench_kernels.sweep(case) == pytest.approx(n_wrong, abs=2)


def test_rates_of_the_machine_are_positive():
    assert min(bench_kernels.machine_rates("float32", 1 << 12, 1).values()) > 0


def test_scaling_fits_one_exponent_to_each_size():
    rows = pd.DataFrame(
        {"axis": axis, "n": 1, "d": 1, "k": 1, "V": 1, axis: size, "iteration_s": size**power}
        for axis, power in (("n", 1.0), ("k", 0.5))
        for size in (1, 2, 4)
    )
    assert bench_scaling.exponents(rows).to_dict() == pytest.approx({"n": 1.0, "k": 0.5})


def test_scaling_times_an_iteration_and_covers_what_is_asked_for():
    assert bench_scaling.measure(Size(300, 130, 3, 2), n_iter=2, n_repeats=1) > 0
    samples, clusters = ([getattr(s, a) for s in bench_scaling.AXES[a]] for a in ("n", "k"))
    assert (samples[0], samples[-1]) == (10_000, 1_000_000)
    assert (clusters[0], clusters[-1]) == (10, 1000)


KMEANS = next(peer for peer in PEERS if peer.name == bench_peers.REFERENCE)


def test_a_peer_for_one_array_gets_all_views():
    data, target = make_multiview_blobs(
        90, (4, 5), n_clusters=3, separation=20, random_state=0, return_X_y=True
    )
    labels = KMEANS.fitter(data.views, 3, 0)()
    assert len(set(zip(labels, target, strict=True))) == 3


def test_a_peer_for_two_views_refuses_three():
    peer = Peer("two", "none", "none:None", most_views=2)
    with pytest.raises(ValueError, match="two takes 2 views; the data set has 3"):
        peer.fitter([np.eye(2)] * 3, 2, 0)


def test_names_of_peers_differ_and_the_yardsticks_are_among_them():
    names = [peer.name for peer in PEERS]
    assert len(set(names)) == len(names)
    assert {bench_peers.REFERENCE, *bench_peers.OURS} <= set(names)
    assert {peer.package for peer in PEERS} == set(make_plots.PACKAGES)


def test_a_fit_of_a_peer_has_time_memory_and_quality(tmp_path, monkeypatch):
    monkeypatch.setattr(bench_peers, "end_after", lambda seconds: None)
    monkeypatch.setattr(bench_peers.resource, "setrlimit", lambda kind, limits: None)
    data, target = make_multiview_blobs(
        90, (4, 5), n_clusters=3, separation=20, random_state=0, return_X_y=True
    )
    path = bench_peers._write(tmp_path / "set.npz", data, target)
    row = bench_peers.fit_once(KMEANS, path, 0, 10.0, 1e9)
    assert (row["acc"], row["nmi"]) == pytest.approx((1, 1))
    assert row["view_bytes"] == 90 * 9 * 4


def test_a_method_that_a_limit_stopped_is_not_tried_on_larger_sets(tmp_path, monkeypatch):
    slow, quick = PEERS[2], PEERS[0]
    paths = [tmp_path / "small.npz", tmp_path / "large.npz"]
    for path in paths:
        path.touch()

    def answer(function, peer, *rest):
        return {"status": "stopped", "reason": ""} if peer is slow else {"status": "done"}

    monkeypatch.setattr(bench_peers, "PEERS", (quick, slow))
    monkeypatch.setattr(bench_peers, "apart", answer)
    monkeypatch.setattr(bench_peers, "write_sets", lambda folder, names: iter(paths))
    rows = pd.DataFrame(bench_peers.run(tmp_path, [], n_seeds=1, seconds=1, n_bytes=1))
    told = rows.set_index(["data", "method"])["status"]
    assert told["small", slow.name] == "stopped"
    assert told["large", slow.name] == "not tried"
    assert list(told[:, quick.name]) == ["done", "done"]


@pytest.fixture
def peer_rows():
    """Ours, one that is worse and one that is as good at twice the time."""
    found = [
        (bench_peers.OURS[0], "manyview", 1.0, 0.90),
        (bench_peers.REFERENCE, "scikit-learn", 4.0, 0.80),
        ("imml OPIMC", "imml", 0.5, 0.895),
    ]
    done = [
        {"data": "a", "method": name, "package": package, "version": "1", "seed": 0}
        | {"status": "done", "reason": "", "seconds": seconds, "acc": nmi, "nmi": nmi}
        | {"peak_bytes": 3.0, "view_bytes": 2.0}
        for name, package, seconds, nmi in found
    ]
    late = {**done[0], "method": "imml NEMO", "package": "imml", "status": "stopped"}
    late |= {"reason": "too slow", "seconds": np.nan, "nmi": np.nan}
    return pd.DataFrame([*done, late]).assign(**machine())


def test_peers_are_compared_at_equal_quality(peer_rows):
    table = bench_peers.summary(peer_rows, "a")
    assert table["ratio"].tolist() == pytest.approx([0.25, 1, 0.125])
    assert table["memory"].tolist() == pytest.approx([1.5] * 3)
    assert bench_peers.verdict(table, bench_peers.OURS[0]) == (
        "1 of 2 other methods reach the NMI of OMVCDR(scale=None, n_init=1) (minus 0.01); the "
        "fastest is imml OPIMC with 0.50 s: ours takes 2.00 ×."
    )
    better = table.assign(nmi=[0.95, 0.8, 0.9])
    assert bench_peers.verdict(better, bench_peers.OURS[0]).startswith("None of 2 other methods")
    assert bench_peers.verdict(table, bench_peers.OURS[1]) == "OMVCDR() did not finish."


@pytest.fixture
def memory_rows():
    """Memory that is half of the views and grows as they do."""
    return pd.DataFrame(
        {"axis": axis, "method": peer.name, "status": "done", "n": n, "d": d}
        | {"view_bytes": 4e6 * n * d, "peak_bytes": 2e6 * n * d, "ratio": 0.5}
        for axis, n, d in [
            ("n", 1, 1),
            ("n", 2, 1),
            ("d", 1, 2),
            ("d", 1, 4),
            ("mnist70k_4v", 7, 1),
        ]
        for peer in bench_memory.METHODS
    ).assign(**machine())


def test_memory_is_told_against_each_size_and_beside_the_views(memory_rows):
    lines = bench_memory.findings(memory_rows)
    ours = "OMVCDR(scale=None, n_init=1)"
    assert f"{ours} in n: exponent 1.00; at 2 4 MB, 0.50 × the views" in lines
    assert f"{ours} on mnist70k_4v: 14 MB, 0.50 × the views (target: at most 0.6)" in lines


def test_memory_of_a_fit_is_measured_on_blobs():
    row = bench_memory.measure(bench_memory.METHODS[0], (400, 21))
    assert (row["n"], row["d"], row["view_bytes"]) == (400, 21, 400 * 21 * 4)
    assert row["seconds"] > 0


def test_a_file_is_made_by_blocks_and_found_again(tmp_path):
    path = tmp_path / "rows.npy"
    n_rows = bench_engines.BLOCK_ROWS + 10
    bench_engines.make_file(path, n_rows)
    X = np.load(path, mmap_mode="r")
    assert (X.shape, X.dtype) == ((n_rows, 512), np.float32)
    assert X[-1].std() == pytest.approx(1, abs=0.2)
    made = path.stat().st_mtime_ns
    bench_engines.make_file(path, n_rows)
    assert path.stat().st_mtime_ns == made
    assert bench_engines.reading_rate(path) > 0


def test_what_is_possible_is_the_slower_of_the_fastest_bounds():
    bounds = pd.DataFrame(
        [
            {"bytes_per_s": 50.0, "rows": 10},
            {"bytes_per_s": 100.0, "rows": 10},
            {"rows": 10, "iteration_s": 2.0},
            {"rows": 10, "iteration_s": 1.0},
        ]
    )
    # reading 1000 bytes takes 10 s, computing 100 rows 10 s
    assert bench_engines.possible_seconds(bounds, 50, 1000) == pytest.approx(10)
    assert bench_engines.possible_seconds(bounds, 300, 1000) == pytest.approx(30)


@pytest.mark.slow
def test_a_killed_stream_resumes_to_the_labels_of_the_engine_in_memory(tmp_path):
    path, n_rows = tmp_path / "rows.npy", 12_000
    bench_engines.make_file(path, n_rows)
    files = {name: tmp_path / f"{name}.npy" for name in ("whole", "resumed")}
    bench_engines.fit_once(Job("memory", path, n_rows, labels=files["whole"], n_passes=1))
    job = Job("stream", path, n_rows, 1e8, tmp_path / "passes", files["whole"])
    row = bench_engines.kill_and_resume(job, 8, files)
    assert row["was_killed"]
    assert row["killed_after"] >= 4
    assert row["labels_are_identical"]


@pytest.fixture
def engine_rows():
    stream = {"engine": "stream", "status": "done", "objective": 1.0, "peak_anon": 2e8}
    return pd.DataFrame(
        [
            {"what": "raw read", "rows": 1000, "status": "done", "bytes_per_s": 2048e3},
            {"what": "part", "rows": 100, "iteration_s": 0.1, **stream, "engine": "memory"},
            {"what": "whole", "rows": 1000, "iteration_s": 2.5, **stream}
            | {"share_of_possible": 0.8, "reads": 9.0},
            {"what": "killed and resumed", "rows": 1000, **stream, "was_killed": True}
            | {"killed_after": 7, "labels_are_identical": True},
            {"what": "part", "rows": 100, "engine": "none", "status": "failed", "reason": "gone"},
        ]
    ).assign(**machine())


def test_engines_are_told_beside_what_is_possible(engine_rows):
    text = "\n".join(bench_engines.findings(engine_rows))
    assert "raw read, 1000 rows: 0.00 GB/s" in text
    assert "part, 100 rows, memory: 0.1 s per iteration, 0.20 GB of anonymous memory" in text
    assert "stream, 1000 rows: 0.80 of the possible rate (target: at least 0.7)" in text
    assert "killed after 7 passes and resumed: the labels are identical" in text
    assert "none, 100 rows: failed: gone" in text


@pytest.fixture
def gpu_rows():
    measured = [
        {"part": "iteration", "tf32": True, "bare_s": 0.01, "iteration_s": 0.015},
        {"part": "fit", "tf32": True, "fit_s": 0.5, "nmi": 0.9},
        {"part": "default", "method": "Lloyd in torch", "fit_s": 2.0, "nmi": 0.8},
        {"part": "stream", "iteration_s": 2.0, "rate / copies": 0.85},
        {"part": "predict", "predict_s": 1.0, "rows_per_s": 5e6},
        {"part": "equal", "scale": "scale=None", "equal of 20": 20, "share as on cpu": 0.9999},
    ]
    rows = pd.DataFrame(measured).assign(n=1000, **machine())
    rows["iteration / bare"] = rows["iteration_s"] / rows["bare_s"]
    return rows


@pytest.fixture
def all_rows(peer_rows, memory_rows, engine_rows, gpu_rows):
    """Rows of every benchmark on the page."""
    kernels = bench_kernels.measure(3, "float32", 200, 1)
    rates = {"product_gflops": 1.0, "copy_gb_s": 2.0, "triad_gb_s": 3.0}
    scaling = pd.DataFrame(
        {"axis": axis, "n": 1, "d": 1, "k": 1, "V": 1, axis: size, "iteration_s": size}
        for axis in make_plots.AXES
        for size in (1, 2, 4)
    )
    return {
        "kernels": kernels.assign(**rates, **machine()),
        "scaling": scaling.assign(**machine()),
        "peers": peer_rows,
        "memory": memory_rows,
        "engines": engine_rows,
        "gpu": gpu_rows,
    }


@pytest.mark.slow
def test_every_part_of_the_page_has_a_plot_and_a_text(all_rows, tmp_path):
    assert set(all_rows) == set(make_plots.PARTS)
    page = tmp_path / "page.md"
    page.write_text("".join(f"<!-- {name} -->\n<!-- /{name} -->\n" for name in all_rows))
    for _ in range(2):  # equal rows draw an equal plot
        pictures = []
        for name, rows in all_rows.items():
            make_plots.write_part(name, rows, page)
            pictures.append((tmp_path / "images" / f"bench_{name}.png").read_bytes())
    text = page.read_text()
    assert text.count("Measured on") == len(all_rows)
    assert "| samples | 1 to 4 | 1.00 | at most 1.05 |" in text
    assert "* imml NEMO: stopped: too slow" in text
    assert "| KMeans(n_init=1) | 1.00 | 4 MB (0.50 × the views) | 1.00 | 8 MB" in text
    assert "| engine: stream | 1 000 | 2.50 | 0.000 million rows/s | 0.20 GB |" in text
    assert "| iteration, TF32 | 1 000 | 15.0 ms | 1.50 of its two products |" in text
    assert "| 20 fits, scale=None | 1 000 | 20 equal | 0.9999 of the labels as on the CPU |" in text
    assert all(len(picture) < 100_000 for picture in pictures)


def test_numbers_on_axes_are_short():
    shown = [make_plots.short(number) for number in (0.0237, 8, 2048, 31_623, 1e6)]
    assert shown == ["0.0237", "8", "2k", "32k", "1M"]


def test_tables_of_fits_show_medians_beside_what_is_asked_for():
    names = ["iteration / bare", "fit / KMeans", "default fit / KMeans", "share of decrease"]
    names += ["memory / views", "memory / views, default"]
    same = {"data": "blobs", "dtype": "float32", "k": 10}
    values = [(1.1, np.nan, np.nan, np.nan, np.nan, np.nan), (1.3, 0.4, 0.6, 0.996, 0.2, 0.5)]
    rows = pd.DataFrame([{**same, **dict(zip(names, row, strict=True))} for row in values])
    lines = make_plots.tell_fit(rows).splitlines()
    assert "| `blobs` | float32 | 10 | 1.20 | 1.10 to 1.30 |" in lines
    assert "| blobs | share of decrease | 0.996 | 0.996 to 0.996 | 0.995 |" in lines
    assert "| blobs | memory / views | 0.20 |  | 0.6 |" in lines


def test_a_table_of_estimates_ends_with_how_many_hold():
    row = {"engine": "stream", "n": 30_000, "k": 10, "told_s": 2.0, "fit_s": 1.0, "time_ratio": 2.0}
    row |= {"told_bytes": 1e8, "fit_bytes": 1e8, "memory_ratio": 1.0}
    text = make_plots.tell_estimate(pd.DataFrame([row]))
    assert "| stream | 30 000 | 10 | 2.0 | 1.0 | 2.00 | 100 | 100 | 1.00 |" in text
    assert "time: 0 of 1 within a factor of 1.5" in text


def test_a_table_of_many_clusters_tells_the_growth_and_what_is_beside():
    rows = [
        {"what": "iteration", "n": 1000, "k": k, "seconds": 0.01 * k**0.5} for k in (10, 100, 1000)
    ]
    rows.append({"what": "predict", "n": 50_000, "k": 1000, "seconds": 2.0, "bare_s": 1.8})
    fit = {"engine": "stream", "bytes": 2e8, "clusters": 9999, "same": 0.99987}
    rows.append({"what": "fit", "n": 60_000, "k": 10_000, "seconds": 70.0, **fit})
    text = make_plots.tell_large_k(pd.DataFrame(rows))
    assert text.startswith("The time of an iteration grows with k to the power of 0.50 from 10 to")
    assert "| predict | 50 000 | 1000 | 2.00 | 0.90 of the rate of the matrix products |" in text
    assert "| fit, stream | 60 000 | 10000 | 70.00 | 9999 clusters, 200 MB (samples ×" in text
    assert "2400 MB), 0.9999 of the labels equal those of the memory engine |" in text


def test_a_wide_fit_stands_beside_its_gram_matrices():
    row = bench_wide.measure(60, (1100, 40, 1200), 1, 1)
    assert row["gram_matrices"] == 4  # of two views, scaled twice
    assert row["ratio"] == pytest.approx(row["fit_seconds"] / row["bound_seconds"])
    assert row["ari"] == 1
    told = make_plots.tell_wide(pd.DataFrame([{"case": "60 × 2340", **row}]))
    assert "| 60 × 2340 | 1 | 4 |" in told


def test_all_features_are_used_only_while_asked_for():
    before = row_space.FEWEST_FEATURES
    with bench_wide.on_all_features():
        assert not row_space.is_wide(10, 10**6)
    assert before == row_space.FEWEST_FEATURES
    assert row_space.is_wide(10, 10**6)
