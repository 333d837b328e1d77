"""Changes of bytes that files suffer, or that somebody makes: all drawn from one generator."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import numpy as np

Mutation = Callable[[bytearray, np.random.Generator, Sequence[bytes]], bytearray]

EXTREMES = (0, 1, -1, 2, 127, 128, 255, 256, 32767, 32768, 65535, 2**31 - 1, 2**31, 2**32 - 1)
EXTREMES += (2**53, 2**62, 2**63 - 1, -(2**31), -(2**63), 1_000_000_007)
TOKENS = (
    *(b"", b",", b";", b"\t", b"|", b'"', b"'", b"\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf"),
    *(b"nan", b"NA", b"inf", b"-inf", b"1e999", b"-1", b"0", b"99999999999999999999", b"1e-320"),
    *(b"null", b"true", b"{}", b"[]", b"[[[[[[", b"NaN", b"Infinity", b"1.5.2", b"\xe2\x80\xa8"),
    *(b"=1+1", b"<", b"&lt;", b"</row>", b"\\u0000", b"\xed\xa0\x80", b"2020-01-01", b" "),
)
HEAD = 256  # bytes at either end, where formats keep their sizes


def _span(data: bytearray, rng: np.random.Generator, most: int = 64) -> slice:
    """A short range, often near an end of the file."""
    start = _place(data, rng)
    return slice(start, min(len(data), start + int(rng.integers(1, most + 1))))


def _place(data: bytearray, rng: np.random.Generator) -> int:
    n = max(1, len(data))
    side = rng.integers(4)
    if side == 0:
        return int(rng.integers(min(n, HEAD)))
    if side == 1:
        return max(0, n - 1 - int(rng.integers(min(n, HEAD))))
    return int(rng.integers(n))


def flip_bits(data, rng, others):
    for _ in range(int(rng.integers(1, 9))):
        if data:
            data[_place(data, rng)] ^= 1 << int(rng.integers(8))
    return data


def truncate(data, rng, others):
    return data[: _place(data, rng)]


def insert(data, rng, others):
    at = _place(data, rng)
    return data[:at] + rng.bytes(int(rng.integers(1, 33))) + data[at:]


def delete(data, rng, others):
    del data[_span(data, rng)]
    return data


def duplicate(data, rng, others):
    part = _span(data, rng, 256)
    at = _place(data, rng)
    return data[:at] + data[part] * int(rng.choice([1, 1, 2, 50])) + data[at:]


def splice(data, rng, others):
    """The beginning of one file and the end of another."""
    other = others[int(rng.integers(len(others)))]
    return data[: _place(data, rng)] + other[_place(bytearray(other), rng) :]


def put_integer(data, rng, others):
    """An extreme number of 1, 2, 4 or 8 bytes, in either order."""
    size = int(rng.choice([1, 2, 4, 8]))
    number = EXTREMES[int(rng.integers(len(EXTREMES)))] % (1 << (8 * size))
    order = "<" if rng.integers(2) else ">"
    at = _place(data, rng)
    packed = struct.pack(order + {1: "B", 2: "H", 4: "I", 8: "Q"}[size], number)
    data[at : at + size] = packed[: max(0, len(data) - at)]
    return data


def fill_range(data, rng, others):
    """A range of zeros, or of ones."""
    part = _span(data, rng, 512)
    data[part] = (b"\0" if rng.integers(2) else b"\xff") * (part.stop - part.start)
    return data


def put_token(data, rng, others):
    """A word that formats of text treat specially, in place of another."""
    part = _span(data, rng, 8)
    data[part] = TOKENS[int(rng.integers(len(TOKENS)))]
    return data


def swap(data, rng, others):
    one, other = sorted((_span(data, rng), _span(data, rng)), key=lambda part: part.start)
    if one.stop > other.start:
        return data
    return (
        data[: one.start]
        + data[other]
        + data[one.stop : other.start]
        + data[one]
        + data[other.stop :]
    )


MUTATIONS: tuple[Mutation, ...] = (
    *(flip_bits, truncate, insert, delete, duplicate, splice, put_integer, put_integer),
    *(fill_range, put_token, swap),
)


def mutate(content: bytes, rng: np.random.Generator, others: Sequence[bytes]) -> bytes:
    """One to four changes of a file; `others` are files to splice with."""
    data = bytearray(content)
    for _ in range(int(rng.choice([1, 1, 1, 2, 4]))):
        data = MUTATIONS[int(rng.integers(len(MUTATIONS)))](data, rng, others)
    return bytes(data)
