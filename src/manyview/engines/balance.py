"""Which parts of the rows should be on another worker, so that all have as much to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def find_moves(holders: Sequence[str | None], n_threads: Mapping[str, int]) -> dict[int, str]:
    """Position of a part -> its new worker; as few as bring parts in proportion to threads.

    Parameters
    ----------
    holders : sequence of str or None
        The worker that has each part, if one has.
    n_threads : mapping
        Threads of each worker.
    """
    held: dict[str, list[int]] = {worker: [] for worker in n_threads}
    for position, worker in enumerate(holders):
        if worker in held:
            held[worker].append(position)

    def load(worker: str, more: int = 0) -> float:
        return (len(held[worker]) + more) / n_threads[worker]

    found: dict[int, str] = {}
    while held:
        most, least = max(held, key=load), min(held, key=lambda worker: load(worker, 1))
        if load(least, 1) >= load(most):
            break
        position = held[most].pop()
        held[least].append(position)
        found[position] = least
    return found
