"""What `manyview fit` and `manyview predict` do: files in, a folder or a table of labels out."""

from manyview.runs.estimate import estimate_run
from manyview.runs.fit import FitRequest, fit_run
from manyview.runs.predict import PredictRequest, predict_run

__all__ = ["FitRequest", "PredictRequest", "estimate_run", "fit_run", "predict_run"]
