"""Models on disk: an estimator as a tree of plain values and arrays, and back.

Values are written as JSON; what JSON lacks is an object with one key: `{"array": 3}` (the index of
an array), `{"tuple": [...]}`, `{"names": [...]}` (an array of text), `{"map": {...}}`,
`{"float": "nan"}` and `{"Reading": {...}}` for the dataclasses of `RECORDS`, by their fields. Only
these are made on loading, and only if every field has the type that the class states.
"""

from __future__ import annotations

import math
import os
from dataclasses import fields
from types import UnionType
from typing import Any, Self, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

import manyview
from manyview.archive import DTYPES, read_archive, write_archive
from manyview.blocks import ClusterMoments, FloatArray
from manyview.errors import ModelFileError
from manyview.readings import Reading
from manyview.solver.inference import Fitted
from manyview.solver.smoothing import Neighborhood
from manyview.solver.soundness import has_sound_shapes
from manyview.solver.state import Model, Problem

__all__ = ["SavedModel"]

RECORDS: dict[str, type[Any]] = {
    record.__name__: record
    for record in (Fitted, Model, Problem, Reading, ClusterMoments, Neighborhood)
}
# what a fit leaves on an estimator, and of which type
ATTRIBUTES: dict[str, Any] = {
    "labels_": NDArray[np.int32],
    "n_clusters_": int,
    "space_weights_": FloatArray,
    "confidence_": FloatArray,
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
    "readings_": list[tuple[str, str | None]],
    "engine_": str,
    "_fitted": Fitted,
    "_view_widths": tuple[int, ...],
    "_view_rows": tuple[int, ...],
    "_view_features": tuple[NDArray[np.object_] | None, ...],
    "_n_features_out": int,
}
OPTIONAL: dict[str, Any] = {
    "feature_names_in_": NDArray[np.object_],  # where X was a DataFrame
    "_sklearn_output_config": dict[str, str],  # where set_output was called
}


class SavedModel:
    """What an estimator inherits to be saved and loaded."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file, all of it or nothing.

        Parameters
        ----------
        path : str or path
            The file to make or to replace, such as "model.mv". It holds the parameters and what
            was learnt, not the views; equal models give equal bytes. A `random_state` that is a
            generator is stored as None, and metadata requests are left out.
        """
        check_is_fitted(self)
        arrays: list[NDArray[Any]] = []
        known = {**ATTRIBUTES, **OPTIONAL}
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        if isinstance(parameters.get("random_state"), np.random.RandomState):
            parameters["random_state"] = None
        attributes = {name: vars(self)[name] for name in known if name in vars(self)}
        manifest = {
            "estimator": type(self).__name__,
            "parameters": _encode_map(parameters, arrays),
            "attributes": _encode_map(attributes, arrays),
        }
        write_archive(path, manifest, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote; nothing in the file is executed.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        OMVCDR
            It predicts and transforms as the model that was saved.

        Raises
        ------
        ModelFileError
            If the file is damaged, of another version, or not a model of this class.
        """
        manifest, arrays = read_archive(path)
        try:
            _require(manifest["estimator"] == cls.__name__, f"not a model of {cls.__name__}")
            model = cls(**_decode_map(manifest["parameters"], arrays))
            model._check_parameters()  # type: ignore[attr-defined]
            attributes = _decode_map(manifest["attributes"], arrays)
            _check_attributes(attributes)
        except (
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
            ArithmeticError,
            RecursionError,
        ) as error:
            msg = (
                f"{path} is not usable ({error}): it was written by manyview "
                f"{manifest.get('manyview')}, and this is {manyview.__version__}, which expects "
                f"the parameters and attributes of its own {cls.__name__}. Load it with the "
                "manyview that wrote it, or fit again."
            )
            raise ModelFileError(msg) from error
        vars(model).update(attributes)
        return model


def _check_attributes(attributes: dict[str, Any]) -> None:
    """Everything that a fit leaves is there, of the right type, and of shapes that agree."""
    lacking = set(ATTRIBUTES) - set(attributes)
    _require(not lacking, f"it lacks {sorted(lacking)}")
    known = {**ATTRIBUTES, **OPTIONAL}
    for name, value in attributes.items():
        _require(name in known, f"it holds {name!r}")
        _require(_has_type(value, known[name]), f"{name} has another type")
    widths = attributes["_view_widths"]
    is_sound = has_sound_shapes(attributes["_fitted"], widths)
    features = attributes["_view_features"]
    _require(
        is_sound
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
            encoded[name] = _encode(value, arrays)
        except TypeError as error:
            msg = (
                f"{name} holds {error}, which a model file cannot; expected numbers, text, arrays "
                "of them, lists and tuples. Set it to one of these and save again."
            )
            raise ModelFileError(msg) from None
    return encoded


def _encode(value: Any, arrays: list[NDArray[Any]]) -> Any:
    """One value as JSON."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, list):
        return [_encode(item, arrays) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [_encode(item, arrays) for item in value]}
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {"map": {name: _encode(item, arrays) for name, item in value.items()}}
    if isinstance(value, np.ndarray):
        return _encode_array(value, arrays)
    name = type(value).__name__
    if RECORDS.get(name) is not type(value):
        msg = f"a {name}"
        raise TypeError(msg)
    return {name: {f.name: _encode(getattr(value, f.name), arrays) for f in fields(value)}}


def _encode_array(array: NDArray[Any], arrays: list[NDArray[Any]]) -> dict[str, Any]:
    if array.dtype == object and array.ndim == 1 and all(isinstance(item, str) for item in array):
        return {"names": array.tolist()}
    if array.dtype.newbyteorder("<").str not in DTYPES:
        msg = f"an array of dtype {array.dtype}"
        raise TypeError(msg)
    arrays.append(array)
    return {"array": len(arrays) - 1}


def _decode_map(values: dict[str, Any], arrays: list[NDArray[Any]]) -> dict[str, Any]:
    return {name: _decode(value, arrays) for name, value in values.items()}


def _decode(value: Any, arrays: list[NDArray[Any]]) -> Any:
    """One value from JSON."""
    if isinstance(value, list):
        return [_decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    _require(len(value) == 1, "an object has not one key")
    [(kind, content)] = value.items()
    if kind == "array":
        _require(type(content) is int and 0 <= content < len(arrays), "an array is not there")
        return arrays[content]
    if kind == "tuple":
        return tuple(_decode(item, arrays) for item in content)
    if kind == "map":
        return _decode_map(content, arrays)
    if kind == "names":
        return np.array([str(name) for name in content], dtype=object)
    if kind == "float":
        _require(content in ("nan", "inf", "-inf"), "a number is not one")
        return float(content)
    _require(kind in RECORDS, f"it holds a {kind!r}")
    return _decode_record(RECORDS[kind], _decode_map(content, arrays))


def _decode_record(record: type[Any], values: dict[str, Any]) -> Any:
    """One of our dataclasses, if its fields are there and have their types."""
    hints = get_type_hints(record)
    odd = sorted(set(values) ^ {field.name for field in fields(record)})
    _require(not odd, f"{record.__name__} lacks or should not have {odd}")
    for name, value in values.items():
        _require(_has_type(value, hints[name]), f"{record.__name__}.{name} has another type")
    return record(**values)


def _has_type(value: Any, hint: Any) -> bool:
    """Whether a value is of the type that an annotation states, items and all."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_has_type(value, choice) for choice in arguments)
    if origin is np.ndarray:
        scalar = get_args(arguments[1])[0]
        return isinstance(value, np.ndarray) and np.issubdtype(
            value.dtype, get_origin(scalar) or scalar
        )
    if origin is tuple and arguments[-1] is not Ellipsis:
        return (
            isinstance(value, tuple)
            and len(value) == len(arguments)
            and all(map(_has_type, value, arguments))
        )
    if origin in (list, tuple):
        return isinstance(value, origin) and all(_has_type(item, arguments[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(
            _has_type(item, arguments[1]) for item in value.values()
        )
    return type(value) is hint or (hint is float and type(value) is int)


def _require(is_so: bool, otherwise: str) -> None:
    if not is_so:
        raise ValueError(otherwise)
