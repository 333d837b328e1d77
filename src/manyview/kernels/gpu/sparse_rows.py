"""Sparse rows in torch: CSR arrays with their transposed pattern, so that sums have one order.

Products with the transposed array would add in an order that changes from call to call. Here the
transposed pattern is computed once, and shared by all arrays with other values.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Pattern:
    """Where the entries of a CSR array are."""

    ends: Tensor  # (rows + 1,)
    columns: Tensor  # (entries,)
    n_columns: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.ends) - 1

    @cached_property
    def row_of(self) -> Tensor:
        """Row of each entry."""
        every = torch.arange(self.n_rows, device=self.ends.device)
        return every.repeat_interleave(self.ends.diff(), output_size=len(self.columns))

    @cached_property
    def order(self) -> Tensor:
        """Entries in the order of the columns, then of the rows."""
        return self.columns.argsort(stable=True)

    @cached_property
    def transposed(self) -> Pattern:
        """The pattern of the transposed array, whose entries are in `order`."""
        counts = torch.bincount(self.columns, minlength=self.n_columns)
        ends = torch.zeros(self.n_columns + 1, dtype=torch.int64, device=self.ends.device)
        torch.cumsum(counts, 0, out=ends[1:])
        return Pattern(ends, self.row_of[self.order], self.n_rows)


@dataclass(frozen=True, eq=False)
class SparseRows:
    """A CSR array in torch."""

    pattern: Pattern
    values: Tensor  # (entries,)

    ndim = 2

    @classmethod
    def of(cls, X: sparse.csr_array[Any], device: torch.device) -> SparseRows:
        """Copy an array to a device."""
        ends = torch.as_tensor(X.indptr.astype(np.int64), device=device)
        columns = torch.as_tensor(X.indices.astype(np.int64), device=device)
        values = torch.as_tensor(np.ascontiguousarray(X.data), device=device)
        return cls(Pattern(ends, columns, X.shape[1]), values)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.pattern.n_rows, self.pattern.n_columns

    @property
    def dtype(self) -> torch.dtype:
        """Of the values."""
        return self.values.dtype

    @property
    def device(self) -> torch.device:
        """Of the values."""
        return self.values.device

    def with_values(self, values: Tensor) -> SparseRows:
        """The same entries with other values."""
        return SparseRows(self.pattern, values)

    def times_rows(self, factor: Tensor) -> SparseRows:
        """Each row multiplied by a factor."""
        return self.with_values(self.values * factor.to(self.dtype)[self.pattern.row_of])

    def times(self, dense: Tensor) -> Tensor:
        """X B."""
        pattern = self.pattern
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that these tensors are new in torch
            X = torch.sparse_csr_tensor(
                pattern.ends, pattern.columns, self.values, self.shape, check_invariants=False
            )
            return X @ dense.to(self.dtype).contiguous()  # an expanded one is read wrongly

    def transposed_times(self, dense: Tensor) -> Tensor:
        """Xᵀ B, in float64."""
        across = SparseRows(self.pattern.transposed, self.values[self.pattern.order].double())
        return across.times(dense.double())

    def column_sums(self, weights: Tensor) -> Tensor:
        """Σ_i ω_i x_i, in float64."""
        return self.transposed_times(weights[:, None])[:, 0]

    def row_sums(self) -> Tensor:
        """Sum of each row, in float64."""
        ones = torch.ones(self.shape[1], 1, dtype=torch.float64, device=self.device)
        return self.with_values(self.values.double()).times(ones)[:, 0]

    def to_dense(self) -> Tensor:
        """The same as a dense tensor."""
        out = torch.zeros(self.shape, dtype=self.dtype, device=self.device)
        out[self.pattern.row_of, self.pattern.columns] = self.values
        return out

    def __getitem__(self, rows: slice) -> SparseRows:
        """Consecutive rows; their entries are not copied."""
        start, stop, _ = rows.indices(self.shape[0])
        ends = self.pattern.ends[start : stop + 1]
        first, last = int(ends[0]), int(ends[-1])
        pattern = Pattern(ends - first, self.pattern.columns[first:last], self.pattern.n_columns)
        return SparseRows(pattern, self.values[first:last])

    def __len__(self) -> int:
        """Number of rows."""
        return self.shape[0]
