"""OMVCDR as its users see it: descent, invariances, edge cases, the scikit-learn contract."""

import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from helpers.bad_inputs import BAD_INPUTS
from helpers.definitions import joint_objective, objective_of
from helpers.strategies import problems
from manyview import OMVCDR, MultiViewData
from manyview.datasets import load_benchmark, make_multiview_blobs
from manyview.exceptions import ConvergenceWarning, DataWarning, NotEnoughSamplesError, ViewError
from manyview.metrics import clustering_accuracy

SCALES = [
    None,
    "unit",
    "l2",
    "sqrt-l2",
    "z",
    "z-l2",
    "pca-l2",
    "log-pca-l2",
    ["unit", "l2"],
    "auto",
]
quiet = pytest.mark.filterwarnings("ignore::manyview.exceptions.DataWarning")
unfinished = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def blobs():
    return make_multiview_blobs(
        300, (12, 20, 7), n_clusters=4, cluster_std=1.5, random_state=0, return_X_y=True
    )


def fitted_steps(data, weights=None, **parameters):
    """F of every step of a fit by definition, from what the callback is given, start by start.

    Weights have the mean one in F.
    """
    steps = {}
    weights = None if weights is None else weights / weights.mean()

    def record(progress):
        F = objective_of(data, progress.model, progress.labels(), weights)
        assert progress.objective == pytest.approx(F, rel=1e-5, abs=1e-6 * scale(progress))
        steps.setdefault(progress.start, []).append((progress.step, F, scale(progress)))

    def scale(progress):
        return len(progress.model.alpha) * progress.model.problem.sum_squares

    model = OMVCDR(smooth=False, random_state=0, **parameters)
    return model.fit(data, sample_weight=weights, callback=record), steps


def assert_never_rises(steps, tolerance):
    for trace in steps.values():
        assert len(trace) > 3
        for (_, before, _), (step, after, scale) in zip(trace, trace[1:], strict=False):
            assert after <= before + tolerance * scale, step


@quiet
@unfinished
@given(problems(), st.sampled_from(SCALES), st.sampled_from([1e-3, 0.1, 10.0, 1e3]))
def test_F_never_rises_in_any_step_on_random_data(case, scale, lam):
    data, k, weights = case
    _, steps = fitted_steps(
        data, weights, n_clusters=k, scale=scale, lam=lam, n_init=2, max_iter=8, weight_exponent=2
    )
    assert_never_rises(steps, 1e-12)


@unfinished
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", ["complete", "missing", "narrow", "wide", "rank-deficient"])
def test_F_never_rises_in_any_step(case, dtype):
    widths = {"narrow": (2, 3), "wide": (150, 90)}.get(case, (15, 25))
    data, _ = make_multiview_blobs(
        60,
        widths,
        n_clusters=5,
        cluster_std=2.0,
        missing_rate=0.3 if case == "missing" else 0.0,
        dtype=dtype,
        random_state=1,
        return_X_y=True,
    )
    if case == "rank-deficient":
        data = MultiViewData.of([X[:, :3] @ np.ones((3, 20), dtype) for X in data.views])
    _, steps = fitted_steps(data, n_clusters=5, scale=None, n_init=2, max_iter=15)
    assert_never_rises(steps, 1e-12 if dtype == np.float64 else 1e-7)


@unfinished
@pytest.mark.data
@pytest.mark.parametrize("name", ["msrcv1_5v", "tcga_breast", "bbcsport"])
def test_F_never_rises_in_any_step_on_real_data(name, data_home):
    bunch = load_benchmark(name, data_home=data_home)
    k = len(np.unique(bunch.target))
    _, steps = fitted_steps(bunch.data, n_clusters=k, scale="auto", n_init=1, max_iter=6)
    assert_never_rises(steps, 1e-7)


def test_it_finds_the_blobs(blobs):
    data, y = blobs
    model = OMVCDR(4, random_state=0).fit(data)
    assert clustering_accuracy(y, model.labels_) > 0.98
    assert model.converged_
    assert model.labels_.dtype == np.int32
    assert model.n_features_in_ == 39
    assert model.space_weights_.sum() == pytest.approx(1)
    assert model.view_weights_.sum() == pytest.approx(1)
    assert [H.shape for H in model.bases_[1]] == [(12, 8), (20, 8), (7, 8)] * 2
    for center, X in zip(model.cluster_centers_, data.views, strict=True):
        expected = [X[model.labels_ == c].mean(axis=0) for c in range(4)]
        np.testing.assert_allclose(center, expected, rtol=1e-6)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_predict_on_the_training_samples_returns_the_labels(scale, missing):
    data, _ = make_multiview_blobs(
        500,
        (8, 5),
        n_clusters=6,
        cluster_std=4.0,
        missing_rate=missing,
        random_state=0,
        return_X_y=True,
    )
    model = OMVCDR(6, scale=scale, random_state=0, n_init=2).fit(data)
    np.testing.assert_array_equal(model.predict(data), model.labels_)
    np.testing.assert_array_equal(model.predict(data[37:99]), model.labels_[37:99])


def test_predict_takes_samples_that_lack_a_view_the_fit_always_had(blobs):
    data, y = blobs
    model = OMVCDR(4, random_state=0).fit(data)
    present = np.ones((300, 3), dtype=bool)
    present[:, 1] = False
    labels = model.predict(MultiViewData.of(data.views, present=present))
    assert clustering_accuracy(y, labels) > 0.9


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dense_csr_and_memory_map_give_the_same(rng, tmp_path, scale, dtype):
    views = [(rng.random((200, d)) * (rng.random((200, d)) < 0.4)).astype(dtype) for d in (30, 12)]
    views = [X + (np.arange(200) % 3 == 0)[:, None].astype(dtype) for X in views]
    mapped = []
    for v, X in enumerate(views):
        np.save(tmp_path / f"{v}.npy", X)
        mapped.append(np.load(tmp_path / f"{v}.npy", mmap_mode="r"))
    settings = {"scale": scale, "random_state": 0, "n_init": 2, "max_iter": 100, "tol": 1e-4}
    dense = OMVCDR(3, **settings).fit(views)
    for other in (
        [sparse.csr_array(X) for X in views],
        [views[0], sparse.coo_array(views[1])],
        mapped,
    ):
        model = OMVCDR(3, **settings).fit(other)
        np.testing.assert_array_equal(model.labels_, dense.labels_)
        assert model.objective_ == pytest.approx(
            dense.objective_, rel=1e-8 if dtype == np.float64 else 1e-4
        )
        np.testing.assert_array_equal(model.predict(views), dense.labels_)


def test_all_containers_give_the_same(blobs):
    data, _ = blobs
    expected = OMVCDR(4, random_state=0).fit_predict(data)
    tables = [pd.DataFrame(X) for X in data.views]
    wide = np.hstack(data.views)
    for X in (list(data.views), dict(zip("abc", data.views, strict=True)), tables):
        np.testing.assert_array_equal(OMVCDR(4, random_state=0).fit_predict(X), expected)
    sized = OMVCDR(4, random_state=0, view_sizes=[12, 20, 7])
    np.testing.assert_array_equal(sized.fit_predict(wide), expected)
    np.testing.assert_array_equal(sized.predict(wide.tolist()), expected)


def test_permuting_views_permutes_the_weights_and_nothing_else(blobs):
    data, _ = blobs
    order = [2, 0, 1]
    model = OMVCDR(4, random_state=0).fit(data)
    other = OMVCDR(4, random_state=0).fit([data.views[v] for v in order])
    np.testing.assert_array_equal(other.labels_, model.labels_)
    np.testing.assert_allclose(other.view_weights_, model.view_weights_[order], rtol=1e-6)
    np.testing.assert_allclose(other.space_weights_, model.space_weights_, rtol=1e-6)
    assert other.objective_ == pytest.approx(model.objective_)


@pytest.mark.parametrize("v", [0, 1, 2])
def test_replacing_a_view_by_noise_changes_the_result(blobs, rng, v):
    data, _ = blobs
    views = list(data.views)
    model = OMVCDR(4, random_state=0).fit(views)
    views[v] = 10 * rng.standard_normal(views[v].shape)
    noisy = OMVCDR(4, random_state=0).fit(views)
    assert noisy.objective_ != model.objective_
    assert noisy.view_weights_[v] < 0.6 * model.view_weights_[v]


def test_scaling_all_views_changes_nothing_but_the_objective(blobs):
    data, _ = blobs
    model = OMVCDR(4, random_state=0, scale=None).fit(data)
    for factor in (1e-30, 3.0, 1e30):
        other = OMVCDR(4, random_state=0, scale=None).fit([factor * X for X in data.views])
        np.testing.assert_array_equal(other.labels_, model.labels_)
        assert other.objective_ / factor**2 == pytest.approx(model.objective_)


def test_weights_equal_repeated_rows_in_F(blobs, rng):
    data, _ = blobs
    weights = rng.integers(0, 4, size=300)
    model = OMVCDR(4, smooth=False, random_state=0, n_init=1).fit(data, sample_weight=weights)
    repeated = data[np.repeat(np.arange(300), weights)]
    kept = weights > 0
    state, unit = model._fitted.model, weights[kept].mean()
    by_weight = objective_of(data[kept], state, model.labels_[kept], weights[kept] / unit)
    one_each = replace(state, problem=replace(state.problem, lam=state.problem.lam / unit))
    by_rows = objective_of(repeated, one_each, np.repeat(model.labels_, weights))
    assert unit * by_weight == pytest.approx(by_rows, rel=1e-10)
    assert model.objective_ == pytest.approx(by_weight, rel=1e-9)
    np.testing.assert_array_equal(model.labels_, model.predict(data))


def test_equal_seeds_give_equal_results_and_leave_the_global_generator_alone(blobs):
    data, _ = blobs
    state = np.random.get_state()[1].copy()
    first, second = (OMVCDR(4, random_state=7).fit(data) for _ in range(2))
    np.testing.assert_array_equal(first.labels_, second.labels_)
    assert first.objective_ == second.objective_
    np.testing.assert_array_equal(np.random.get_state()[1], state)


def test_more_starts_never_end_higher(blobs):
    data, _ = blobs
    starts = [OMVCDR(9, smooth=False, n_init=n, random_state=3) for n in (1, 4)]
    ends = [model.fit(data).objective_ for model in starts]
    assert ends[1] <= ends[0]


def test_the_embedding_has_the_spaces_side_by_side(blobs):
    data, _ = blobs
    model = OMVCDR(4, random_state=0).fit(data)
    Z = model.transform(data)
    assert Z.shape == (300, 4 + 8 + 12)
    graph = model.anchor_graph(data)
    np.testing.assert_array_equal(np.hstack(graph), Z)
    assert [anchors[0].shape for anchors in model.anchors_] == [(4, 12), (8, 12), (12, 12)]
    assert model.get_feature_names_out()[0] == "omvcdr0"


def test_the_objective_is_that_of_an_anchor_graph(blobs):
    data, _ = blobs
    model = OMVCDR(4, scale=None, random_state=0).fit(data)
    one, all_present = np.ones(300), np.ones((300, 3), dtype=bool)
    J = 0.0
    for Z, anchors, g in zip(
        model.anchor_graph(data), model.anchors_, model._fitted.model.coupling, strict=True
    ):
        bases = [A.T for A in anchors]
        J += joint_objective(data.views, bases, Z, model.labels_, g, one, all_present)
    assert pytest.approx(model.objective_) == J


def test_latent_dims_follow_the_rule_and_the_user(rng):
    views = [rng.standard_normal((40, 5)), rng.standard_normal((40, 4))]
    shapes = lambda model: [bases[0].shape[1] for bases in model.bases_]  # noqa: E731
    assert shapes(OMVCDR(2, scale=None).fit(views)) == [2, 4, 6]
    assert shapes(OMVCDR(4, scale=None).fit(views)) == [4, 8, 9]
    assert shapes(OMVCDR(12, scale=None).fit(views)) == [9]
    assert shapes(OMVCDR(2, scale=None, latent_dims=[3, 11]).fit(views)) == [3, 11]


@quiet
def test_a_sample_of_weight_zero_is_labelled_without_being_counted(blobs):
    data, _ = blobs
    weights = np.ones(300)
    weights[::3] = 0
    model = OMVCDR(4, random_state=0).fit(data, sample_weight=weights)
    alone = OMVCDR(4, random_state=0).fit(data[weights > 0])
    assert model.objective_ == alone.objective_
    np.testing.assert_array_equal(model.labels_, alone.predict(data))


class TestMustWork:
    """Degenerate data give labels, finite numbers, and a warning where it helps."""

    def check(self, X, k, *, scale=None, n_found=None, **parameters):
        model = OMVCDR(k, random_state=0, scale=scale, **parameters).fit(X)
        assert len(np.unique(model.labels_)) == (n_found or k)
        for numbers in (
            model.objective_,
            model.transform(X),
            model.view_weights_,
            model.space_weights_,
        ):
            assert np.all(np.isfinite(numbers))
        return model

    @quiet  # one row has no deviation: its z-scores are zero
    @pytest.mark.parametrize("scale", SCALES)
    def test_one_row_one_cluster(self, rng, scale):
        self.check([rng.random((1, 3)), rng.random((1, 4))], 1, scale=scale)

    @pytest.mark.parametrize("scale", SCALES)
    def test_one_cluster(self, rng, scale):
        self.check([rng.random((30, 3)), rng.random((30, 4))], 1, scale=scale)

    @quiet  # of so many clusters
    @pytest.mark.parametrize("scale", SCALES)
    def test_as_many_clusters_as_samples(self, rng, scale):
        self.check([rng.random((8, 3)), rng.random((8, 4))], 8, scale=scale)

    @pytest.mark.parametrize("scale", SCALES)
    def test_constant_columns(self, rng, scale):
        X = rng.random((30, 3))
        self.check([np.c_[X, np.full(30, 1e9)], rng.random((30, 4))], 3, scale=scale)

    @pytest.mark.parametrize("scale", SCALES)
    def test_an_all_zero_view_warns(self, rng, scale):
        with pytest.warns(DataWarning, match="'view_0' is all zero"):
            self.check([np.zeros((30, 3)), rng.random((30, 4))], 3, scale=scale)

    @pytest.mark.parametrize("scale", SCALES)
    def test_fewer_distinct_rows_than_clusters_warn(self, rng, scale):
        i = rng.integers(2, size=30)
        views = [rng.random((2, 3))[i], rng.random((2, 4))[i]]
        with pytest.warns(DataWarning, match="Found 2 distinct samples, fewer than n_clusters=5"):
            model = self.check(views, 5, scale=scale, n_found=2)
        np.testing.assert_array_equal(model.predict(views), model.labels_)

    @pytest.mark.parametrize("factor", [1e-30, 1e30])
    @pytest.mark.parametrize("scale", SCALES)
    def test_tiny_and_huge_values(self, rng, factor, scale):
        self.check([factor * rng.random((30, 3)), factor * rng.random((30, 4))], 3, scale=scale)

    def test_many_clusters_stay_within_a_hundred_columns_a_space(self, rng):
        model = self.check(
            [rng.random((900, 150)), rng.random((900, 300))], 400, n_init=1, max_iter=3, tol=1
        )
        assert [bases[0].shape[1] for bases in model.bases_] == [100, 200, 300]


class TestRefused:
    """Bad input gets one sentence and leaves the estimator as it was."""

    CASES = BAD_INPUTS

    @pytest.mark.parametrize("case", CASES)
    def test_bad_input_gets_one_sentence(self, case):
        X, sentence = self.CASES[case]
        model = OMVCDR(3)
        before = dict(vars(model))
        with pytest.raises(ViewError, match=sentence) as caught:
            model.fit(X)
        assert "\n" not in str(caught.value)
        assert vars(model) == before

    @pytest.mark.parametrize("case", CASES)
    def test_a_fitted_estimator_keeps_its_fit(self, case, blobs):
        data, _ = blobs
        model = OMVCDR(3, random_state=0).fit(data)
        before = dict(vars(model))
        with pytest.raises(ViewError):
            model.fit(self.CASES[case][0])
        assert vars(model) == before

    PARAMETERS = {
        "n_clusters": [0, 2.5, True, "three"],
        "lam": [0, -1, np.nan, "strong"],
        "n_spaces": [0],
        "latent_dims": [[], [0], [2.5]],
        "weight_exponent": [1, 0.5, np.inf],
        "scale": ["zscore", ["l2", "auto"], []],
        "init": ["pca"],
        "n_init": [0],
        "max_iter": [0],
        "tol": [-1],
        "memory_limit": [0],
        "n_jobs": [0],
    }

    @pytest.mark.parametrize(
        ("name", "value"),
        [(name, value) for name, values in PARAMETERS.items() for value in values],
    )
    def test_bad_parameters_get_one_sentence(self, name, value, blobs):
        data, _ = blobs
        with pytest.raises(ValueError, match=f"^{name}=.* expected"):
            OMVCDR().set_params(**{name: value}).fit(data)

    @pytest.mark.parametrize(
        ("weights", "found"),
        [([1.0], "has shape"), (-np.ones(300), "holds neg"), (np.full(300, np.nan), "holds neg")],
    )
    def test_bad_weights(self, weights, found, blobs):
        with pytest.raises(ViewError, match=f"sample_weight {found}"):
            OMVCDR(4).fit(blobs[0], sample_weight=weights)

    def test_too_few_weighted_samples(self, blobs):
        with pytest.raises(NotEnoughSamplesError, match="Only 2 samples have a weight"):
            OMVCDR(4).fit(blobs[0], sample_weight=np.arange(300) < 2)

    def test_predict_refuses_other_views(self, blobs):
        data, _ = blobs
        model = OMVCDR(4, random_state=0).fit(data)
        for X in (
            list(data.views[:2]),
            [*data.views[:2], data.views[2][:, :5]],
            np.hstack(data.views),
        ):
            with pytest.raises(ViewError, match="the fit had"):
                model.predict(X)

    def test_memory_limit_refuses_before_the_work(self, blobs):
        with pytest.raises(MemoryError, match="memory_limit allows"):
            OMVCDR(4, memory_limit=1e3).fit(blobs[0])

    def test_a_fit_cut_short_warns(self, blobs):
        with pytest.warns(ConvergenceWarning, match="max_iter=1"):
            OMVCDR(4, max_iter=1, random_state=0).fit(blobs[0])


def expected_failures():
    starts = "labels depend on random starts, which differ; equality of F is tested instead"
    tags = "the check asks a clusterer that has predict_proba for the tags of a classifier"
    return {
        f"check_sample_weight_equivalence_on_{kind}_data": starts for kind in ("dense", "sparse")
    } | {f"check_estimator_sparse_{kind}": tags for kind in ("array", "matrix")}


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_accepts_the_estimator():
    results = check_estimator(
        OMVCDR(), expected_failed_checks=expected_failures(), on_skip=None, on_fail="raise"
    )
    statuses = {result["check_name"]: result["status"] for result in results}
    assert {name for name, status in statuses.items() if status == "xfail"} == set(
        expected_failures()
    )
    skipped = {name for name, status in statuses.items() if status == "skipped"}
    assert skipped <= {"check_array_api_input"}  # needs SCIPY_ARRAY_API in the environment


def test_splitters_cut_samples(blobs):
    data, y = blobs
    search = GridSearchCV(
        OMVCDR(random_state=0, n_init=2),
        {"n_clusters": [2, 4]},
        cv=KFold(3, shuffle=True, random_state=0),
    ).fit(data)
    assert search.best_params_ == {"n_clusters": 4}
    assert len(search.best_estimator_.labels_) == 300
    scores = cross_validate(OMVCDR(4, random_state=0), data, cv=3)["test_score"]
    assert np.all(np.isfinite(scores))
    pipeline = make_pipeline(StandardScaler(), OMVCDR(4, random_state=0, view_sizes=[12, 20, 7]))
    assert clustering_accuracy(y, pipeline.fit_predict(np.hstack(data.views))) > 0.98


@pytest.mark.filterwarnings("ignore")
def test_a_bare_list_in_a_splitter_never_gets_a_finite_score(blobs):
    data, _ = blobs
    same = [data.views[0], data.views[0][:, ::-1], data.views[0] ** 2]
    for views in (list(data.views), same):
        scores = cross_validate(OMVCDR(4, random_state=0), views, cv=3, error_score=np.nan)
        assert np.all(np.isnan(scores["test_score"]))
        with pytest.raises(ValueError, match="wrap|Wrap"):
            cross_validate(OMVCDR(4, random_state=0), views, cv=3, error_score="raise")


def test_the_score_is_minus_F_over_n(blobs):
    data, _ = blobs
    model = OMVCDR(4, random_state=0).fit(data)
    assert model.score(data) == pytest.approx(-model.objective_ / 300)


def test_clone_and_pickle(blobs):
    data, _ = blobs
    model = OMVCDR(4, random_state=0, scale=["l2", "z"]).fit(data)
    assert clone(model).get_params() == model.get_params()
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(data), model.labels_)


def test_set_output_names_the_columns(blobs):
    data, _ = blobs
    model = OMVCDR(4, random_state=0, n_init=1).set_output(transform="pandas").fit(data)
    assert list(model.transform(data).columns[:2]) == ["omvcdr0", "omvcdr1"]


def test_verbose_logs_each_iteration(blobs, caplog):
    with caplog.at_level("INFO", logger="manyview.solver"):
        OMVCDR(4, random_state=0, n_init=1, verbose=1).fit(blobs[0])
    assert "start 1/1, iteration 1: F = " in caplog.text


def test_importing_the_package_loads_nothing_heavy():
    heavy = ["torch", "dask", "plotly", "matplotlib", "numba"]
    code = f"import sys, manyview; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_confidence_is_lower_where_clusters_meet(rng):
    centers = np.array([[0.0, 0.0], [4.0, 0.0]])
    y = rng.integers(2, size=400)
    views = [centers[y] + rng.standard_normal((400, 2)) for _ in range(2)]
    model = OMVCDR(2, scale=None, random_state=0).fit(views)
    halfway = np.abs(sum(X[:, 0] for X in views) / 2 - 2) < 0.3
    assert model.confidence_.shape == (400,)
    assert 0 <= model.confidence_.min() <= model.confidence_.max() <= 1
    assert model.confidence_[halfway].max() < np.median(model.confidence_[~halfway])


@quiet  # of a view that is given twice
def test_stability_is_the_agreement_of_the_starts(rng):
    clear = [np.repeat(np.eye(3), 40, axis=0) + 0.01 * rng.standard_normal((120, 3))] * 2
    noise = [rng.standard_normal((120, 12)) for _ in range(2)]
    assert OMVCDR(3, random_state=0).fit(clear).stability_ == 1
    assert OMVCDR(6, random_state=0).fit(noise).stability_ < 0.9
    assert np.isnan(OMVCDR(3, n_init=1, smooth=False, random_state=0).fit(clear).stability_)


def test_samples_of_no_weight_get_a_confidence_too(rng):
    views = [rng.standard_normal((60, 4)) for _ in range(2)]
    model = OMVCDR(3, random_state=0).fit(views, sample_weight=np.arange(60) % 2)
    assert model.confidence_.shape == model.labels_.shape == (60,)
