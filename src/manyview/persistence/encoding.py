"""Values, arrays and dataclasses as JSON plus a list of arrays, and back.

What JSON lacks is an object with one key: `{"array": 3}` (the index of an array),
`{"tuple": [...]}`, `{"names": [...]}` (an array of text), `{"map": {...}}`, `{"float": "nan"}` and
`{"ViewScaling": {...}}` for the dataclasses of `RECORDS`, by their fields. Only these are created
on loading, and only if every field has its declared type.
"""

from __future__ import annotations

import math
from dataclasses import fields
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from manyview.data.scaling import ColumnMoments, ViewScaling
from manyview.kernels.statistics import Accumulated, ArraySums, ClusterMoments, Moved
from manyview.persistence.archive import DTYPES
from manyview.solver.anchor_graph import AnchorGraph
from manyview.solver.evidence import Calibration, Structure
from manyview.solver.inference import Fitted
from manyview.solver.model import Model
from manyview.solver.online import BatchTotals
from manyview.solver.outliers import OutlierReference
from manyview.solver.problem import Problem
from manyview.solver.scaled_rows import ViewColumns

RECORDS: dict[str, type[Any]] = {
    record.__name__: record
    for record in (
        *(Fitted, Model, Problem, ViewScaling, ClusterMoments, AnchorGraph, BatchTotals),  # a fit
        *(Structure, Calibration),  # what it knows about itself
        *(ArraySums, ColumnMoments, ViewColumns, Moved, Accumulated),  # results of passes
        OutlierReference,
    )
}


def encode(value: Any, arrays: list[NDArray[Any]]) -> Any:
    """One value as JSON."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, list):
        return [encode(item, arrays) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(item, arrays) for item in value]}
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {"map": {name: encode(item, arrays) for name, item in value.items()}}
    if hasattr(value, "__array__"):
        return _encode_array(value, arrays)
    name = type(value).__name__
    if RECORDS.get(name) is not type(value):
        msg = f"a {name}"
        raise TypeError(msg)
    return {name: {f.name: encode(getattr(value, f.name), arrays) for f in fields(value)}}


def _encode_array(array: Any, arrays: list[NDArray[Any]]) -> dict[str, Any]:
    array = np.asarray(array)
    if array.dtype == object and array.ndim == 1 and all(isinstance(item, str) for item in array):
        return {"names": array.tolist()}
    if array.dtype.newbyteorder("<").str not in DTYPES:
        msg = f"an array of dtype {array.dtype}"
        raise TypeError(msg)
    arrays.append(array)
    return {"array": len(arrays) - 1}


def decode_map(values: dict[str, Any], arrays: list[NDArray[Any]]) -> dict[str, Any]:
    """Named values from JSON."""
    return {name: decode(value, arrays) for name, value in values.items()}


def decode(value: Any, arrays: list[NDArray[Any]]) -> Any:
    """One value from JSON."""
    if isinstance(value, list):
        return [decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    require(len(value) == 1, "an object has not one key")
    [(kind, content)] = value.items()
    if kind == "array":
        require(type(content) is int and 0 <= content < len(arrays), "an array is not there")
        return arrays[content]
    if kind == "tuple":
        return tuple(decode(item, arrays) for item in content)
    if kind == "map":
        return decode_map(content, arrays)
    if kind == "names":
        return np.array([str(name) for name in content], dtype=object)
    if kind == "float":
        require(content in ("nan", "inf", "-inf"), "a number is not one")
        return float(content)
    require(kind in RECORDS, f"it holds a {kind!r}")
    return _decode_record(RECORDS[kind], decode_map(content, arrays))


def _decode_record(record: type[Any], values: dict[str, Any]) -> Any:
    """One of the dataclasses, if its fields are complete and have their types."""
    hints = get_type_hints(record)
    odd = sorted(set(values) ^ {field.name for field in fields(record)})
    require(not odd, f"{record.__name__} lacks or should not have {odd}")
    for name, value in values.items():
        require(has_type(value, hints[name]), f"{record.__name__}.{name} has another type")
    return record(**values)


def has_type(value: Any, hint: Any) -> bool:
    """Whether a value has the type of an annotation, including items."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hasattr(origin, "__value__"):  # from numpy 2.5 on, NDArray is a type alias
        return has_type(value, origin.__value__[arguments])
    if origin in (Union, UnionType):
        return any(has_type(value, choice) for choice in arguments)
    if origin is np.ndarray:
        scalar = get_args(arguments[1])[0]
        return isinstance(value, np.ndarray) and np.issubdtype(
            value.dtype, get_origin(scalar) or scalar
        )
    if origin is tuple and arguments[-1] is not Ellipsis:
        return (
            isinstance(value, tuple)
            and len(value) == len(arguments)
            and all(map(has_type, value, arguments))
        )
    if origin in (list, tuple):
        return isinstance(value, origin) and all(has_type(item, arguments[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(
            has_type(item, arguments[1]) for item in value.values()
        )
    return type(value) is hint or (hint is float and type(value) is int)


def require(is_so: bool, otherwise: str) -> None:
    """Raise ValueError with a reason unless a condition holds."""
    if not is_so:
        raise ValueError(otherwise)
