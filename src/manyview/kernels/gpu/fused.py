"""The label step, the moments and the embedding in one read of the projections each, in Triton.

For few clusters these are bound by memory: kernels of one operation each would read and write
(rows, D) arrays a dozen times. Sums are made by a fixed number of programs, each over its own tiles
in order, and added in float64: the same call gives the same result.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator,attr-defined"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor

N_PROGRAMS = 528  # whose sums are added; the same for every GPU
MOST_ENTRIES = 8192  # clusters times columns, padded: what the registers of a program hold
TILE_ENTRIES = 4096  # of a tile of rows


def padded(n: int) -> int:
    """Power of two that tiles of n columns have."""
    return max(16, 1 << (n - 1).bit_length())


def fits(n_columns: int, n_clusters: int) -> bool:
    """Whether the sums of all clusters fit into the registers."""
    return padded(n_columns) * padded(n_clusters) <= MOST_ENTRIES


@triton.jit
def _best(
    b_at, labels_at, out_at, clusters_at, small_at, n_rows, first_chunk, chunk_step, K,
    D: tl.constexpr, DP: tl.constexpr, TILE: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    per_chunk: tl.constexpr = CHUNK // TILE
    tile = tl.program_id(0)
    chunk = first_chunk + (tile // per_chunk) * chunk_step
    rows = chunk.to(tl.int64) * CHUNK + (tile % per_chunk) * TILE + tl.arange(0, TILE)
    columns = tl.arange(0, DP)
    is_row, is_column = rows < n_rows, columns < D
    is_there = is_row[:, None] & is_column[None, :]
    b = tl.load(b_at + rows[:, None] * D + columns[None, :], mask=is_there, other=0.0)
    own = tl.load(labels_at + rows, mask=is_row, other=-1)
    label, least = own, tl.full((TILE,), float("inf"), tl.float32)
    leave = tl.zeros((TILE,), tl.float32)
    for c in range(K):
        at = clusters_at + c * 3 * D + columns  # center, slope of adding, slope of removing
        apart = b - tl.load(at, mask=is_column, other=0.0)[None, :]
        square = apart * apart
        add_slope = tl.load(at + D, mask=is_column, other=0.0)
        rem_slope = tl.load(at + 2 * D, mask=is_column, other=0.0)
        add = tl.load(small_at + 2 * c) + tl.sum(square * add_slope[None, :], axis=1)
        rem = tl.load(small_at + 2 * c + 1) + tl.sum(square * rem_slope[None, :], axis=1)
        leave = tl.where(own == c, rem, leave)
        is_less = (own != c) & (add < least)
        least = tl.where(is_less, add, least)
        label = tl.where(is_less, c, label)
    tolerance = tl.load(small_at + 2 * K)
    label = tl.where(least < leave * (1.0 - tolerance), label, own)
    tl.store(out_at + rows, label, mask=is_row)


@triton.jit
def _sum(
    b_at, labels_at, sums_at, n_rows,
    D: tl.constexpr, DP: tl.constexpr, KP: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    program, n_programs = tl.program_id(0), tl.num_programs(0)
    columns, clusters, within = tl.arange(0, DP), tl.arange(0, KP), tl.arange(0, TILE)
    sums = tl.zeros((KP, DP), dtype=tl.float32)
    squares = tl.zeros((KP, DP), dtype=tl.float32)
    counts = tl.zeros((KP,), dtype=tl.float32)
    for tile in range(program, tl.cdiv(n_rows, TILE), n_programs):
        rows = tile.to(tl.int64) * TILE + within
        is_row = rows < n_rows
        is_there = is_row[:, None] & (columns < D)[None, :]
        b = tl.load(b_at + rows[:, None] * D + columns[None, :], mask=is_there, other=0.0)
        own = tl.load(labels_at + rows, mask=is_row, other=-1)
        is_own = own[None, :] == clusters[:, None]
        counts += tl.sum(is_own.to(tl.float32), axis=1)
        member = is_own.to(tl.bfloat16)
        # numbers of float32 are sums of three of bfloat16, whose products with 1 are exact
        first = b.to(tl.bfloat16)
        rest = b - first.to(tl.float32)
        second = rest.to(tl.bfloat16)
        sums = tl.dot(member, first, sums)
        sums = tl.dot(member, second, sums)
        sums = tl.dot(member, (rest - second.to(tl.float32)).to(tl.bfloat16), sums)
        square = b * b
        first = square.to(tl.bfloat16)
        rest = square - first.to(tl.float32)
        second = rest.to(tl.bfloat16)
        squares = tl.dot(member, first, squares)
        squares = tl.dot(member, second, squares)
        squares = tl.dot(member, (rest - second.to(tl.float32)).to(tl.bfloat16), squares)
    width: tl.constexpr = 2 * DP + 1
    at = sums_at + program.to(tl.int64) * KP * width + clusters * width
    tl.store(at[:, None] + columns[None, :], sums)
    tl.store(at[:, None] + DP + columns[None, :], squares)
    tl.store(at + 2 * DP, counts)


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


class ClusterSums(NamedTuple):
    """ClusterSums over rows by cluster, in float64."""

    total: Any  # (k, D): Σ b
    squares: Any  # (k, D): Σ b²
    count: Any  # (k,)


def best_labels(
    b: Tensor,
    labels: Tensor,
    chunks: range,
    chunk_rows: int,
    costs: Any,
    tolerance: float,
) -> Tensor:
    """Labels after each row of some chunks has moved to where it costs least.

    `costs` are (grow, slope, center) of adding a row to each cluster, and of removing one: cost =
    grow + Σ_j slope (b − center)². Both have the same centers. A cluster that must keep its row has
    an infinite decrease of −grow.
    """
    n, D = b.shape
    (grow, slope, center), (rem_grow, rem_slope, _) = costs
    clusters = np.stack([center, slope, rem_slope], axis=1)  # (k, 3, D)
    small = np.append(np.stack([grow, rem_grow], axis=1), tolerance)
    packed = np.concatenate([small, clusters.ravel()]).astype(np.float32)
    small_there, clusters_there = torch.as_tensor(packed, device=b.device).tensor_split(
        [len(small)]
    )
    out, DP = labels.clone(), padded(D)
    tile = min(max(TILE_ENTRIES // DP, 16), 128)
    with torch.cuda.device(b.device):
        _best[(len(chunks) * (chunk_rows // tile),)](
            b, labels, out, clusters_there, small_there, n, chunks.start, chunks.step,
            len(center), D, DP, tile, chunk_rows, num_warps=4,
        )  # fmt: skip
    return out


def cluster_sums(b: Tensor, labels: Tensor, n_clusters: int) -> ClusterSums:
    """ClusterSums of b, b² and 1 by cluster."""
    n, D = b.shape
    DP, KP = padded(D), padded(n_clusters)
    sums = torch.empty((N_PROGRAMS, KP * (2 * DP + 1)), device=b.device)
    tile = min(max(TILE_ENTRIES // DP, 16), 128)
    with torch.cuda.device(b.device):
        _sum[(N_PROGRAMS,)](
            b, labels, sums, n, D, DP, KP, tile, num_warps=8 if DP * KP > 2048 else 4,
        )  # fmt: skip
    total = sums.sum(0, dtype=torch.float64).cpu().numpy().reshape(KP, -1)[:n_clusters]
    return ClusterSums(total[:, :D], total[:, DP : DP + D], total[:, -1])


def embed(b: Tensor, labels: Tensor, keep: Tensor, rest: Tensor) -> Tensor:
    """keep ∘ b + rest, by rows of the clusters."""
    n, D = b.shape
    out, tile = torch.empty_like(b), 32
    with torch.cuda.device(b.device):
        _embed[(-(-n // tile),)](b, labels, keep, rest, out, n, D, padded(D), tile)
    return out
