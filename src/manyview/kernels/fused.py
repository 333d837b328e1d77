"""The label step, the moments and the embedding in one read of the projections each, in Triton.

For few clusters a step is bound by memory: kernels of one operation each would read and write
(rows, D) arrays a dozen times. Sums are made by a fixed number of programs, each over its own tiles
in order, and added in float64 in the order of the programs: the same call gives the same result.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor

TILE = 128  # rows
N_PROGRAMS = 528  # whose sums are added; the same for every GPU
MOST_ENTRIES = 8192  # clusters times columns, padded: what the registers of a program hold


class Weighing(NamedTuple):
    """Costs Σ_j slope b_j² + along b_j, plus a constant, of each cluster."""

    slope: Tensor  # (DP, KP)
    along: Tensor  # (DP, KP)
    constant: Tensor  # (KP,)


def padded(n: int) -> int:
    """Power of two that tiles of n columns have."""
    return max(16, 1 << (n - 1).bit_length())


def fits(n_columns: int, n_clusters: int) -> bool:
    """Whether the sums of all clusters fit into the registers."""
    return padded(n_columns) * padded(n_clusters) <= MOST_ENTRIES


def weighing(slope: Any, center: Any, constant: Any, device: torch.device) -> Weighing:
    """From (k, D) slopes and centers, and (k,) constants; more clusters than k are never near."""
    k, D = center.shape
    DP, KP = padded(D), padded(k)
    packed = np.zeros((2 * DP + 1, KP), dtype=np.float32)
    packed[:D, :k] = slope.T
    packed[DP : DP + D, :k] = (-2 * slope * center).T
    packed[-1] = np.inf
    packed[-1, :k] = constant + (slope * center**2).sum(axis=1)
    found = torch.as_tensor(packed, device=device)
    return Weighing(found[:DP], found[DP : 2 * DP], found[-1])


@triton.jit
def _products(b, slope_at, along_at, constant_at, columns, k_columns, KP: tl.constexpr):
    """(rows, KP) costs."""
    where = columns[:, None] * KP + k_columns[None, :]
    cost = tl.dot(b * b, tl.load(slope_at + where), input_precision="ieee")
    cost += tl.dot(b, tl.load(along_at + where), input_precision="ieee")
    return cost + tl.load(constant_at + k_columns)[None, :]


@triton.jit
def _step(
    b_at, labels_at, out_at, sums_at,
    add_slope, add_along, add_constant, rem_slope, rem_along, rem_constant, alone_at,
    n_rows, first_chunk, chunk_step, n_chunks, rounding,
    D: tl.constexpr, DP: tl.constexpr, KP: tl.constexpr,
    TILE: tl.constexpr, CHUNK: tl.constexpr, MOVES: tl.constexpr,
):  # fmt: skip
    program, n_programs = tl.program_id(0), tl.num_programs(0)
    per_chunk: tl.constexpr = CHUNK // TILE
    columns, clusters, within = tl.arange(0, DP), tl.arange(0, KP), tl.arange(0, TILE)
    sums = tl.zeros((KP, DP), dtype=tl.float32)
    squares = tl.zeros((KP, DP), dtype=tl.float32)
    counts = tl.zeros((KP,), dtype=tl.float32)
    if MOVES:
        old_sums = tl.zeros((KP, DP), dtype=tl.float32)
        old_squares = tl.zeros((KP, DP), dtype=tl.float32)
        old_counts = tl.zeros((KP,), dtype=tl.float32)
        n_moved = tl.zeros((TILE,), dtype=tl.float32)
    for tile in range(program, n_chunks * per_chunk, n_programs):
        chunk = first_chunk + (tile // per_chunk) * chunk_step
        rows = chunk.to(tl.int64) * CHUNK + (tile % per_chunk) * TILE + within
        is_row = rows < n_rows
        is_there = is_row[:, None] & (columns < D)[None, :]
        b = tl.load(b_at + rows[:, None] * D + columns[None, :], mask=is_there, other=0.0)
        own = tl.load(labels_at + rows, mask=is_row, other=-1)
        is_own = own[:, None] == clusters[None, :]
        if MOVES:
            add = _products(b, add_slope, add_along, add_constant, columns, clusters, KP)
            where = columns[:, None] * KP + clusters[None, :]
            size = tl.dot(b * b, tl.load(rem_slope + where), input_precision="ieee")
            constant = tl.load(rem_constant + clusters)[None, :]
            rem = size + tl.dot(b, tl.load(rem_along + where), input_precision="ieee") + constant
            leave = tl.sum(tl.where(is_own, rem, 0.0), axis=1)
            reach = tl.sum(tl.where(is_own, 2.0 * size + tl.abs(constant), 0.0), axis=1)
            alone = tl.sum(tl.where(is_own, tl.load(alone_at + clusters)[None, :], 0.0), axis=1)
            add = tl.where(is_own, float("inf"), add)
            best, least = tl.argmin(add, axis=1), tl.min(add, axis=1)
            moves = is_row & (leave - least > 2.0 * rounding * reach) & (alone == 0.0)
            label = tl.where(moves, best.to(tl.int32), own)
            tl.store(out_at + rows, label, mask=is_row)
            n_moved += moves.to(tl.float32)
            before = tl.trans(is_own.to(tl.float32))
            old_sums += tl.dot(before, b, input_precision="ieee")
            old_squares += tl.dot(before, b * b, input_precision="ieee")
            old_counts += tl.sum(before, axis=1)
            is_own = label[:, None] == clusters[None, :]
        after = tl.trans(is_own.to(tl.float32))
        sums += tl.dot(after, b, input_precision="ieee")
        squares += tl.dot(after, b * b, input_precision="ieee")
        counts += tl.sum(after, axis=1)
    # a program's sums: (KP, 2 DP + 1) after, the same before, and how many moved
    width: tl.constexpr = 2 * DP + 1
    n_sets: tl.constexpr = 2 if MOVES else 1
    at = sums_at + program.to(tl.int64) * (n_sets * KP * width + 1)
    where = clusters[:, None] * width + columns[None, :]
    tl.store(at + where, sums)
    tl.store(at + where + DP, squares)
    tl.store(at + clusters * width + 2 * DP, counts)
    if MOVES:
        at += KP * width
        tl.store(at + where, old_sums)
        tl.store(at + where + DP, old_squares)
        tl.store(at + clusters * width + 2 * DP, old_counts)
    tl.store(at + KP * width, tl.sum(n_moved) if MOVES else 0.0)


@triton.jit
def _embed(
    b_at, labels_at, keep_at, rest_at, out_at, n_rows,
    D: tl.constexpr, DP: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    columns = tl.arange(0, DP)
    is_there = (rows < n_rows)[:, None] & (columns < D)[None, :]
    where = rows[:, None] * D + columns[None, :]
    own = tl.load(labels_at + rows, mask=rows < n_rows, other=0)[:, None] * D + columns[None, :]
    b = tl.load(b_at + where, mask=is_there, other=0.0)
    keep = tl.load(keep_at + own, mask=is_there, other=0.0)
    rest = tl.load(rest_at + own, mask=is_there, other=0.0)
    tl.store(out_at + where, keep * b + rest, mask=is_there)


def step(
    b: Tensor,
    labels: Tensor,
    n_clusters: int,
    chunks: range,
    chunk_rows: int,
    costs: tuple[Weighing, Weighing, Tensor] | None = None,
    rounding: float = 0.0,
) -> tuple[Tensor, Any]:
    """New labels of the rows of some chunks, and the sums of b, b² and 1 by cluster.

    Without costs no label changes. The sums are float64 in numpy: (sets, k, 2 D + 1), after and, if
    there are costs, before; the number of moved rows is in the last entry of another row.
    """
    n, D = b.shape
    DP, KP = padded(D), padded(n_clusters)
    moves = costs is not None
    n_sets, width = 2 if moves else 1, 2 * DP + 1
    sums = torch.empty((N_PROGRAMS, n_sets * KP * width + 1), device=b.device)
    out = labels.clone() if moves else labels
    nothing = labels
    add, rem, alone = costs if costs is not None else ((nothing,) * 3, (nothing,) * 3, nothing)
    small = (chunks.start, chunks.step, len(chunks), rounding)
    with torch.cuda.device(b.device):
        _step[(N_PROGRAMS,)](
            b, labels, out, sums, *add, *rem, alone, n, *small,
            D, DP, KP, TILE, chunk_rows, moves, num_warps=8 if DP * KP > 2048 else 4,
        )  # fmt: skip
    total = sums.sum(0, dtype=torch.float64).cpu().numpy()
    by_cluster = total[:-1].reshape(n_sets, KP, width)[:, :n_clusters]
    found = np.concatenate(
        [by_cluster[..., :D], by_cluster[..., DP : DP + D], by_cluster[..., -1:]], axis=-1
    )
    return out, (found, int(total[-1]))


def embed(b: Tensor, labels: Tensor, keep: Tensor, rest: Tensor) -> Tensor:
    """keep ∘ b + rest, by rows of the clusters."""
    n, D = b.shape
    out, tile = torch.empty_like(b), 32
    with torch.cuda.device(b.device):
        _embed[(-(-n // tile),)](b, labels, keep, rest, out, n, D, padded(D), tile)
    return out
