"""Methods by name: ours, those of an entry point, and any class that a user names.

A method has a version: a digest of its source and of all of manyview that it imports. Rows are
cached by it, so that only what changed is run again.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from manyview.baselines import BASELINES
from manyview.exceptions import ViewError
from manyview.omvcdr import OMVCDR

__all__ = ["Method", "find_method", "known_methods"]

AFTER_THE_FIT = ("reported",)  # modules whose changes cannot change a result
ENTRY_POINTS = "manyview.methods"
SOURCE = Path(__file__).parent.parent


@dataclass(frozen=True)
class Method:
    """A class with `fit_predict`, and how to find it again in another process."""

    name: str
    target: str  # module:Class
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> type:
        """Import the class."""
        module, _, member = self.target.partition(":")
        try:
            return getattr(importlib.import_module(module), member)  # type: ignore[no-any-return]
        except (ImportError, AttributeError) as error:
            msg = f"Method {self.name!r} could not be imported from {self.target!r}: {error}."
            raise ViewError(msg) from None

    def make(self, **wanted: Any) -> Any:
        """Instance with our parameters, and those of `wanted` that the class takes."""
        kind = self.load()
        takes = inspect.signature(kind).parameters
        takes_any = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in takes.values())
        given = {name: value for name, value in wanted.items() if takes_any or name in takes}
        return kind(**(given | dict(self.parameters)))

    @property
    def version(self) -> str:
        """Digest of the source of the class and of what it imports of manyview."""
        return source_digest(inspect.getsourcefile(self.load()) or self.target)


def known_methods() -> dict[str, Method]:
    """All methods that have a name: OMVCDR, the baselines, and those of installed packages."""
    ours: dict[str, type] = {"omvcdr": OMVCDR, **BASELINES}
    methods = {
        name: Method(name, f"{kind.__module__}:{kind.__qualname__}") for name, kind in ours.items()
    }
    for point in entry_points(group=ENTRY_POINTS):
        methods.setdefault(point.name, Method(point.name, point.value))
    return methods


def find_method(name: str) -> Method:
    """Method by its name, or by `module:Class` for a class of the user's own.

    Parameters
    ----------
    name : str
        A name of `known_methods`, or `module:Class`: anything with `fit_predict`. Parameters may
        follow, as in `concat_kmeans(scale="l2", n_init=3)`.

    Returns
    -------
    Method
    """
    methods = known_methods()
    if name in methods:
        return methods[name]
    if name.endswith(")"):
        return _with_parameters(name)
    if ":" not in name:
        msg = (
            f"There is no method {name!r}; expected one of {', '.join(sorted(methods))}, or "
            "module:Class for a class of your own."
        )
        raise ViewError(msg)
    method = Method(name, name)
    if not hasattr(method.load(), "fit_predict"):
        msg = f"{name} has no fit_predict; expected a clusterer in the manner of scikit-learn."
        raise ViewError(msg)
    return method


def _with_parameters(name: str) -> Method:
    """A method called like a function, its arguments plain values."""
    base = find_method(name.partition("(")[0])
    try:
        call = ast.parse(f"f({name.partition('(')[2]}", mode="eval").body
        assert isinstance(call, ast.Call)
        assert not call.args
        given = {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}
    except (SyntaxError, ValueError, AssertionError):
        msg = (
            f"{name!r} cannot be read; expected a method like concat_kmeans(scale='l2', n_init=3)."
        )
        raise ViewError(msg) from None
    unknown = set(given) - set(inspect.signature(base.load()).parameters)
    if unknown:
        msg = f"{base.name} has no parameter {', '.join(sorted(unknown))}; see its documentation."
        raise ViewError(msg)
    written = ", ".join(f"{key}={value!r}" for key, value in given.items())
    return Method(f"{base.name}({written})", base.target, {**base.parameters, **given})


@cache
def source_digest(path: str) -> str:
    """Digest of a source file and, transitively, of the manyview modules that it imports."""
    seen: dict[Path, bytes] = {}
    waiting = [Path(path)]
    while waiting:
        file = waiting.pop()
        if file in seen or not file.is_file():
            continue
        seen[file] = file.read_bytes()
        waiting += _imported_files(seen[file].decode())
    digest = hashlib.sha256()
    for file in sorted(seen):
        digest.update(file.name.encode() + seen[file])
    return digest.hexdigest()[:12]


def _imported_files(source: str) -> list[Path]:
    """Files of the manyview modules that a source imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    files = []
    for name in names:
        first, *rest = name.split(".")
        if first == "manyview" and rest and rest[0] not in AFTER_THE_FIT:
            base = SOURCE.joinpath(*rest)
            files += [base.with_suffix(".py"), base / "__init__.py"]
    return files
