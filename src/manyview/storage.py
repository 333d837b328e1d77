"""Models on disk: an estimator as a tree of plain values and arrays, and back."""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

import manyview
from manyview.archive import read_archive, write_archive
from manyview.blocks import FloatArray
from manyview.errors import ModelFileError
from manyview.records import decode_map, encode, has_type, require
from manyview.solver.inference import Fitted
from manyview.solver.soundness import has_sound_shapes

__all__ = ["SavedModel"]

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
            require(manifest["estimator"] == cls.__name__, f"not a model of {cls.__name__}")
            model = cls(**decode_map(manifest["parameters"], arrays))
            model._check_parameters()  # type: ignore[attr-defined]
            attributes = decode_map(manifest["attributes"], arrays)
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
    require(not lacking, f"it lacks {sorted(lacking)}")
    known = {**ATTRIBUTES, **OPTIONAL}
    for name, value in attributes.items():
        require(name in known, f"it holds {name!r}")
        require(has_type(value, known[name]), f"{name} has another type")
    widths = attributes["_view_widths"]
    is_sound = has_sound_shapes(attributes["_fitted"], widths)
    features = attributes["_view_features"]
    require(
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
            encoded[name] = encode(value, arrays)
        except TypeError as error:
            msg = (
                f"{name} holds {error}, which a model file cannot; expected numbers, text, arrays "
                "of them, lists and tuples. Set it to one of these and save again."
            )
            raise ModelFileError(msg) from None
    return encoded
