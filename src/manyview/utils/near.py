"""Names that are nearly right."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A question to end a sentence with, if a known name is near; else nothing.

    Parameters
    ----------
    name : str
        The name that was given.
    names : iterable of str
        The names that exist.

    Returns
    -------
    str
        Such as " Did you mean 'lmvsc'?".
    """
    by_case = {other.lower(): other for other in names}
    wanted = name.lower()
    near = [by_case[one] for one in get_close_matches(wanted, by_case, n=3, cutoff=0.7)]
    longer = [other for one, other in by_case.items() if wanted in one and other not in near]
    found = [*near, *(longer if len(wanted) > 2 else ())][:3]
    return f" Did you mean {' or '.join(map(repr, found))}?" if found else ""
