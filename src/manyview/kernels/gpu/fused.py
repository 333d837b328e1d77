"""Projections of all views, label step, moments and embedding in one read each, in Triton.

For few clusters these are bound by memory: kernels of one operation each would read and write
(rows, D) arrays a dozen times. Sums are made by a fixed number of programs, each over its own tiles
in order, and added in float64: the same call gives the same result.

The sums for the next bases, C_v, are products of the library: tensor cores want the rows of both
factors side by side, and a kernel here that turned them took three times as long.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator,attr-defined"

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor

from manyview.utils.types import FloatArray

N_PROGRAMS = 528  # that go through the tiles; the same for every GPU, since their sums are added
MOST_ENTRIES = 8192  # clusters times columns, padded: what the registers of a program hold
TILE_ENTRIES = 4096  # of a tile of rows
MOST_VIEWS = 4  # in one projection
MOST_COLUMNS = 128  # of a projection
PROJECTED_ROWS, PROJECTED_FEATURES = 128, 32  # of a step of the product
SQUARED_ROWS, SQUARED_FEATURES = 64, 64
MOST_CLUSTERS = 128  # padded: what the registers of a label step hold
ALIGNED = 16  # features, for wide loads
TAKEN = (torch.float32, torch.float16, torch.bfloat16)


def padded(n: int) -> int:
    """Power of two that tiles of n columns have."""
    return max(16, 1 << (n - 1).bit_length())


def fits(n_columns: int, n_clusters: int) -> bool:
    """Whether the costs and the sums of all clusters fit into the registers."""
    KP = padded(n_clusters)
    return KP <= MOST_CLUSTERS and padded(n_columns) * KP <= MOST_ENTRIES


@triton.jit
def _add_view(
    total, x_at, stride, d, bases_at, first, width, rows, is_row,
    DP: tl.constexpr, STEP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    columns = tl.arange(0, DP)
    for start in range(0, d, STEP):
        features = start + tl.arange(0, STEP)
        is_there = is_row[:, None] & (features < d)[None, :]
        x = tl.load(x_at + rows[:, None] * stride + features[None, :], mask=is_there, other=0.0)
        at = bases_at + columns[None, :] * width + (first + features)[:, None]
        basis = tl.load(at, mask=(features < d)[:, None], other=0.0)
        total = tl.dot(x.to(tl.float32), basis, total, input_precision=PRECISION)
    return total


@triton.jit
def _project(
    x0, x1, x2, x3, stride0, stride1, stride2, stride3, d0, d1, d2, d3, first1, first2, first3,
    bases_at, width, constant_at, out_at, n_rows,
    D: tl.constexpr, DP: tl.constexpr, V: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    columns, is_row = tl.arange(0, DP), rows < n_rows
    b = tl.zeros((TILE, DP), tl.float32)
    b = _add_view(b, x0, stride0, d0, bases_at, 0, width, rows, is_row, DP, STEP, PRECISION)
    if V > 1:
        b = _add_view(
            b, x1, stride1, d1, bases_at, first1, width, rows, is_row, DP, STEP, PRECISION
        )
    if V > 2:
        b = _add_view(
            b, x2, stride2, d2, bases_at, first2, width, rows, is_row, DP, STEP, PRECISION
        )
    if V > 3:
        b = _add_view(
            b, x3, stride3, d3, bases_at, first3, width, rows, is_row, DP, STEP, PRECISION
        )
    b += tl.load(constant_at + columns)[None, :]
    is_there = is_row[:, None] & (columns < D)[None, :]
    tl.store(out_at + rows[:, None] * D + columns[None, :], b, mask=is_there)


@triton.jit
def _square(
    x_at, stride, d, scale_at, offset_at, out_at, n_rows,
    IS_SCALED: tl.constexpr, IS_MOVED: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    total = tl.zeros((TILE,), tl.float64)
    for start in range(0, d, STEP):
        features = start + tl.arange(0, STEP)
        is_feature = features < d
        is_there = (rows < n_rows)[:, None] & is_feature[None, :]
        x = tl.load(x_at + rows[:, None] * stride + features[None, :], mask=is_there, other=0.0)
        x = x.to(tl.float32)
        if IS_SCALED:
            x = x * tl.load(scale_at + features, mask=is_feature, other=0.0)[None, :]
        if IS_MOVED:
            x = x - tl.load(offset_at + features, mask=is_feature, other=0.0)[None, :]
        exact = x.to(tl.float64)
        total += tl.sum(exact * exact, axis=1)
    tl.store(out_at + rows, total, mask=rows < n_rows)


@triton.jit
def _best(
    b_at, labels_at, out_at, moved_at, tables_at, constants_at, n_rows, n_tiles, first_chunk,
    chunk_step, tolerance, D: tl.constexpr, DP: tl.constexpr, KP: tl.constexpr, TILE: tl.constexpr,
    STEP: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    per_chunk: tl.constexpr = CHUNK // TILE
    costs = tl.arange(0, 2 * KP)  # of adding a row to each cluster, then of removing it
    constants = tl.load(constants_at + costs)
    n_moved = tl.zeros((TILE,), dtype=tl.int32)
    for tile in tl.range(tl.program_id(0), n_tiles, tl.num_programs(0)):
        chunk = first_chunk + (tile // per_chunk) * chunk_step
        rows = chunk.to(tl.int64) * CHUNK + (tile % per_chunk) * TILE + tl.arange(0, TILE)
        is_row = rows < n_rows
        cost = tl.zeros((TILE, 2 * KP), dtype=tl.float32)
        for start in range(0, DP, STEP):
            columns = start + tl.arange(0, STEP)
            is_there = is_row[:, None] & (columns < D)[None, :]
            b = tl.load(b_at + rows[:, None] * D + columns[None, :], mask=is_there, other=0.0)
            table = tables_at + costs[None, :] * DP + columns[:, None]  # −2 slope · center, slope
            cost = tl.dot(b, tl.load(table), cost, input_precision="tf32x3")
            cost = tl.dot(b * b, tl.load(table + 2 * KP * DP), cost, input_precision="tf32x3")
        cost += constants[None, :]
        own = tl.load(labels_at + rows, mask=is_row, other=0)
        leave = tl.sum(tl.where(costs[None, :] == own[:, None] + KP, cost, 0.0), axis=1)
        is_other = (costs[None, :] < KP) & (costs[None, :] != own[:, None])
        add = tl.where(is_other, cost, float("inf"))
        least, label = tl.min(add, axis=1), tl.argmin(add, axis=1)
        label = tl.where(least < leave * (1.0 - tolerance), label, own)
        tl.store(out_at + rows, label, mask=is_row)
        n_moved += (is_row & (label != own)).to(tl.int32)
    tl.store(moved_at + tl.program_id(0), tl.sum(n_moved))


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
    for tile in tl.range(program, tl.cdiv(n_rows, TILE), n_programs, num_stages=3):
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


def can_project(views: Sequence[Any], n_columns: int) -> bool:
    """Whether `project` takes these views: few, dense, of at most 32 bits, and few columns."""
    return len(views) <= MOST_VIEWS and n_columns <= MOST_COLUMNS and all(map(_is_taken, views))


def _is_taken(X: Any) -> bool:
    return isinstance(X, Tensor) and X.dtype in TAKEN and X.stride(1) == 1


def project(
    views: Sequence[Tensor], bases: Sequence[FloatArray], constant: FloatArray, *, is_fast: bool
) -> Tensor:
    """Σ_v X_v H_v + constant, in TF32 or as three products in TF32, which is as good as float32."""
    n, D, V = len(views[0]), bases[0].shape[1], len(views)
    DP, widths = padded(D), [X.shape[1] for X in views]
    firsts = np.cumsum([0, *(-(-d // ALIGNED) * ALIGNED for d in widths)])
    packed = np.zeros((DP, firsts[-1] + ALIGNED), dtype=np.float32)  # the constant comes last
    for H, first in zip(bases, firsts[:-1], strict=True):
        packed[:D, first : first + len(H)] = H.T
    packed[:D, -1] = constant
    there = torch.as_tensor(packed, device=views[0].device)
    out = torch.empty((n, D), device=views[0].device)
    given = [*views, *[views[0]] * (MOST_VIEWS - V)]
    sizes = [*widths, *[0] * (MOST_VIEWS - V)]
    begins = [*firsts[1:-1].tolist(), *[0] * (MOST_VIEWS - V)]
    with torch.cuda.device(out.device):
        _project[(-(-n // PROJECTED_ROWS),)](
            *given, *(X.stride(0) for X in given), *sizes, *begins,
            there, packed.shape[1], there[:, -1].contiguous(), out, n, D, DP, V,
            PROJECTED_ROWS, PROJECTED_FEATURES, "tf32" if is_fast else "tf32x3", num_warps=8,
        )  # fmt: skip
    return out


def row_squares(X: Tensor, scale: FloatArray | None, offset: FloatArray | None) -> Tensor:
    """‖x ∘ scale − offset‖² of rows of at most 32 bits, in float64."""
    out = torch.empty(len(X), dtype=torch.float64, device=X.device)
    small = [
        out if part is None else torch.as_tensor(part.astype(np.float32), device=X.device)
        for part in (scale, offset)
    ]
    with torch.cuda.device(X.device):
        _square[(-(-len(X) // SQUARED_ROWS),)](
            X, X.stride(0), X.shape[1], *small, out, len(X),
            scale is not None, offset is not None, SQUARED_ROWS, SQUARED_FEATURES, num_warps=4,
        )  # fmt: skip
    return out


def cost_tables(costs: Any, device: torch.device) -> Tensor:
    """Costs of adding a row to each cluster, and of removing it, as a product with [b, b²] + 1.

    `costs` are (grow, slope, center) of both: cost = grow + Σ_j slope (b − center)². A cluster that
    must keep its row has an infinite decrease of −grow.
    """
    k, D = costs[0][2].shape
    DP, KP = padded(D), padded(k)
    tables, constants = np.zeros((2, 2, KP, DP)), np.full((2, KP), np.inf)
    for side, (grow, slope, center) in enumerate(costs):
        tables[0, side, :k, :D] = -2 * slope * center
        tables[1, side, :k, :D] = slope
        constants[side, :k] = grow + np.sum(slope * center**2, axis=1)
    packed = np.concatenate([tables.ravel(), constants.ravel()]).astype(np.float32)
    return torch.as_tensor(packed, device=device)


def best_labels(
    b: Tensor, labels: Tensor, chunks: range, chunk_rows: int, tables: Tensor, tolerance: float
) -> tuple[Tensor, int]:
    """Labels after each row of some chunks has moved to where it costs least; how many have."""
    n, D = b.shape
    DP = padded(D)
    KP = len(tables) // (4 * DP + 2)
    tile, step = (128, min(DP, 64)) if KP <= 16 else (64, min(DP, 32))
    out, n_tiles = labels.clone(), len(chunks) * (chunk_rows // tile)
    n_programs = min(n_tiles, N_PROGRAMS)
    n_moved = torch.empty(n_programs, dtype=torch.int32, device=b.device)
    with torch.cuda.device(b.device):
        _best[(n_programs,)](
            b, labels, out, n_moved, tables, tables[4 * KP * DP :], n, n_tiles,
            chunks.start, chunks.step, tolerance, D, DP, KP, tile, step, chunk_rows, num_warps=8,
        )  # fmt: skip
    return out, int(n_moved.sum())


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
