"""Model files: an estimator as plain values and arrays, and back."""

from __future__ import annotations

import os
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from manyview._version import __version__
from manyview.base import MultiViewClusterer, check_parameters
from manyview.data.readable import reason_of
from manyview.exceptions import ModelFileError
from manyview.persistence.archive import read_archive, write_archive
from manyview.persistence.encoding import decode_map, encode, has_type, require
from manyview.persistence.shapes import are_results_sound, has_sound_shapes, is_reference_sound
from manyview.solver.evidence import Calibration, Structure
from manyview.solver.inference import Fitted
from manyview.solver.online import BatchTotals
from manyview.solver.outliers import OutlierReference
from manyview.utils.types import FloatArray

Model = TypeVar("Model", bound=MultiViewClusterer)

# fitted attributes and their types
ATTRIBUTES: dict[str, Any] = {
    "labels_": NDArray[np.int32],
    "n_clusters_": int,
    "space_weights_": FloatArray,
    "confidence_": FloatArray,
    "outlier_score_": FloatArray,
    "stability_": float,
    "view_weights_": FloatArray,
    "cluster_view_weights_": FloatArray,
    "bases_": list[list[FloatArray]],
    "cluster_centers_": list[FloatArray],
    "objective_": float,
    "objective_history_": FloatArray,
    "n_iter_": int,
    "converged_": bool,
    "n_features_in_": int,
    "view_names_": tuple[str, ...],
    "scalings_": list[tuple[str, str | None]],
    "engine_": str,
    "_fitted": Fitted,
    "_outliers": OutlierReference,
    "view_sizes_": tuple[int, ...],
    "view_counts_": tuple[int, ...],
    "view_features_": tuple[NDArray[np.object_] | None, ...],
    "_n_features_out": int,
}
OPTIONAL: dict[str, Any] = {
    "structure_": Structure,  # unless check_structure=False
    "_calibration": Calibration,
    "feature_names_in_": NDArray[np.object_],  # if X was a DataFrame
    "_sklearn_output_config": dict[str, str],  # if set_output was called
    "_batches": BatchTotals,  # if partial_fit was called
}


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted model to a file; see `OMVCDR.save`."""
    check_is_fitted(model)
    arrays: list[NDArray[Any]] = []
    known = {**ATTRIBUTES, **OPTIONAL}
    parameters = model.get_params(deep=False)
    if isinstance(parameters.get("random_state"), np.random.RandomState):
        parameters["random_state"] = None
    attributes = {name: vars(model)[name] for name in known if name in vars(model)}
    manifest = {
        "estimator": type(model).__name__,
        "parameters": _encode_map(parameters, arrays),
        "attributes": _encode_map(attributes, arrays),
    }
    write_archive(path, manifest, arrays)


def load_model(cls: type[Model], path: str | os.PathLike[str]) -> Model:
    """Load a model from a file; see `OMVCDR.load`."""
    manifest, arrays = read_archive(path)
    try:
        require(manifest["estimator"] == cls.__name__, f"not a model of {cls.__name__}")
        model = cls(**decode_map(manifest["parameters"], arrays))
        check_parameters(model)
        attributes = decode_map(manifest["attributes"], arrays)
        _check_attributes(attributes)
    except Exception as error:  # wrong values fail anywhere
        msg = (
            f"{path} is not usable ({reason_of(error)}): it was written by manyview "
            f"{manifest.get('manyview')}, and this is {__version__}, which expects "
            f"the parameters and attributes of its own {cls.__name__}. Load it with the "
            "manyview that wrote it, or fit again."
        )
        raise ModelFileError(msg) from error
    model.__dict__.update(attributes)
    return model


def _check_attributes(attributes: dict[str, Any]) -> None:
    """Check that the fitted attributes are complete, with valid types and consistent shapes."""
    lacking = set(ATTRIBUTES) - set(attributes)
    require(not lacking, f"it lacks {sorted(lacking)}")
    known = {**ATTRIBUTES, **OPTIONAL}
    for name, value in attributes.items():
        require(name in known, f"it holds {name!r}")
        require(has_type(value, known[name]), f"{name} has another type")
    widths = attributes["view_sizes_"]
    fitted = attributes["_fitted"]
    is_sound = has_sound_shapes(fitted, widths) and is_reference_sound(
        attributes["_outliers"], fitted, widths
    )
    features = attributes["view_features_"]
    require(
        is_sound
        and are_results_sound(attributes)
        and len(attributes["view_names_"]) == len(features) == len(widths)
        and all(
            names is None or len(names) == d for names, d in zip(features, widths, strict=True)
        ),
        "its shapes do not agree",
    )


def _encode_map(values: dict[str, Any], arrays: list[NDArray[Any]]) -> dict[str, Any]:
    """Named values as JSON; arrays are appended to `arrays`."""
    encoded = {}
    for name, value in values.items():
        try:
            encoded[name] = encode(value, arrays)
        except TypeError as error:
            msg = (
                f"{name} holds {error}, which a model file cannot store; expected numbers, text, "
                "arrays of them, lists and tuples. Set it to one of these and save again."
            )
            raise ModelFileError(msg) from None
    return encoded
