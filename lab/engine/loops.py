"""Everything between two matrix products as compiled loops: each one call on a CPU, where torch needs several.

torch's operators cost 5 to 20 µs each to call, and a decode step of a small model has a thousand of them. These
loops are compiled by numba on first use, kept on disk for the next time, and take numpy views of torch's memory;
bf16 is handed over as the 16 bits that it is, and computed in fp32.

A row is taken from its table before a part of it is taken: only then does numba know that its numbers lie side by
side, and computes many at a time.

Refuses to know torch, requests and steps. Without numba, see lab.engine.operators.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, njit, types
from numba.extending import intrinsic, overload

from lab.engine.team import SHARE, SOURCE, asked, place, wait

COMPILED: dict[str, Any] = {
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"contract", "reassoc", "arcp", "nsz", "nnan"},
    "nogil": True,
}
LOG2_E = np.float32(1.4426950408889634)
LN_2 = np.float32(0.6931471805599453)
SMALLEST = np.float32(-87.0)  # e^-87 is about the smallest normal fp32
CACHE_LINE = 64  # bytes
HALF, ONE = np.float32(0.5), np.float32(1.0)
TERMS = tuple(np.float32(1 / math.factorial(n)) for n in range(7))


@intrinsic
def _as_float(_context, _bits):
    def emit(_, builder, __, args):
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.uint32), emit


@intrinsic
def _as_bits(_context, _value):
    def emit(_, builder, __, args):
        return builder.bitcast(args[0], ir.IntType(32))

    return types.uint32(types.float32), emit


@intrinsic
def _fetch_soon(_context, _array, _index):
    """Ask memory for array[index], which may lie beyond the array's end."""

    def emit(context, builder, signature, args):
        kind = signature.args[0]
        data = context.make_array(kind)(context, builder, args[0]).data
        flat = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(8).as_pointer())
        flag = ir.IntType(32)
        takes = ir.FunctionType(ir.VoidType(), [flat.type, flag, flag, flag])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [flat.type], takes)
        builder.call(prefetch, [flat, flag(0), flag(3), flag(1)])  # to read, into every cache, data
        return context.get_dummy_value()

    return types.void(_array, types.intp), emit


def wide(x):
    """A stored number as fp32: 16 bits are bf16."""


def stored(x, _like):
    """fp32 as `_like` is stored; bf16 is rounded to the nearest, ties to even."""


@overload(wide, inline="always")
def _wide(x):
    if x == types.uint16:
        return lambda x: _as_float(np.uint32(x) << np.uint32(16))
    return lambda x: x


@overload(stored, inline="always")
def _stored(x, _like):
    def rounded(x, _like):
        bits = _as_bits(x)
        odd = (bits >> np.uint32(16)) & np.uint32(1)
        return np.uint16((bits + np.uint32(0x7FFF) + odd) >> np.uint32(16))

    return rounded if _like == types.uint16 else (lambda x, _like: x)


@njit(inline="always", **COMPILED)
def _exp(x):
    """e^x for x ≤ 0, to 5e-7 of itself near 0 and 4e-6 at e^-80: 2^n times a polynomial, many numbers at once."""
    scaled = max(x, SMALLEST) * LOG2_E
    whole = np.float32(math.floor(scaled + HALF))
    rest = (scaled - whole) * LN_2
    p = TERMS[6]
    for n in (5, 4, 3, 2, 1, 0):
        p = p * rest + TERMS[n]
    return p * _as_float(np.uint32((np.int32(whole) + np.int32(127)) << np.int32(23)))


@njit(**COMPILED)
def add_and_normalise(x, y, weight, eps, out):
    """x += y, then out = x / √(mean(x²) + ε) × weight. x is fp32; all [tokens, hidden], weight [hidden]."""
    size = x.shape[1]
    for n in range(x.shape[0]):
        row, new, to = x[n], y[n], out[n]
        squares = np.float32(0)
        for i in range(size):
            value = row[i] + wide(new[i])
            row[i] = value
            squares += value * value
        scale = ONE / np.float32(math.sqrt(squares / np.float32(size) + eps))
        for i in range(size):
            to[i] = stored(row[i] * scale * wide(weight[i]), to[0])


@njit(**COMPILED)
def gate(both, out):
    """out [tokens, size] = SiLU(left half) × right half of `both` [tokens, 2 × size]."""
    size = out.shape[1]
    for n in range(out.shape[0]):
        row, to = both[n], out[n]
        left, right = row[:size], row[size:]
        for i in range(size):
            x = wide(left[i])
            e = _exp(-abs(x))
            above = ONE if x >= 0 else e
            to[i] = stored(x * (above / (ONE + e)) * wide(right[i]), to[0])


@njit(**COMPILED)
def turn_and_keep(every, turns, positions, places, kept, heads, dim, first, end):
    """Rotary embedding of queries and keys in place; keys and values of the first len(places) tokens are kept. All
    this for the tokens from `first` to before `end`.

    every [tokens, query, key and value heads × dim], the first `heads` of them turned; turns [context, dim]: cosine
    and sine of each pair; kept [positions of the cache, key and value heads × dim], written at `places`.
    """
    width = kept.shape[1]
    for n in range(first, end):
        row, turn = every[n], turns[positions[n]]
        for h in range(heads):
            pairs = row[h * dim : (h + 1) * dim]
            for i in range(0, dim, 2):
                a, b, cos, sin = wide(pairs[i]), wide(pairs[i + 1]), turn[i], turn[i + 1]
                pairs[i] = stored(a * cos - b * sin, pairs[0])
                pairs[i + 1] = stored(a * sin + b * cos, pairs[0])
    for n in range(first, min(end, len(places))):
        row, to = every[n], kept[places[n]]
        to[:] = row[len(row) - width :]


@njit(**COMPILED)
def attend(every, kept, starts, positions, kv_heads, dim, out, first, end):
    """Queries over their own request's cache, positions[n] + 1 places from starts[n] on: of the tokens from `first`
    to before `end`.

    every [≥ tokens, …], queries first; kept [places of the cache, 2 × kv_heads × dim]; starts [≥ end];
    out [≥ tokens, query heads × dim]. The cache comes from memory, not from a cache of the CPU, so it is walked
    through in the order in which it lies: all heads of a place before the next place.
    """
    heads = out.shape[1] // dim
    queries, sums = np.empty(heads * dim, np.float32), np.empty(heads * dim, np.float32)
    longest = 0
    for n in range(first, end):
        longest = max(longest, positions[n] + 1)
    weights = np.empty((heads, longest), np.float32)
    scale = ONE / np.float32(math.sqrt(dim))
    for n in range(first, end):
        own, row, to = kept[starts[n] : starts[n] + positions[n] + 1], every[n], out[n]
        for i in range(heads * dim):
            queries[i] = wide(row[i]) * scale
            sums[i] = 0
        _look(queries, own, kv_heads, dim, weights)
        for h in range(heads):
            _softmax(weights[h], len(own))
        _gather(weights, own, kv_heads, dim, sums)
        for i in range(heads * dim):
            to[i] = stored(sums[i], to[0])


@njit(**COMPILED)
def _look(queries, own, kv_heads, dim, weights):
    """weights [heads, tokens] = each query · each key. Neighbouring heads share a key.

    Four tokens at a time, as in `_gather`: a number of the query serves four keys. The next four, with their
    values, are asked for meanwhile.
    """
    heads, fours = len(weights), len(own) // 4 * 4
    four, line = 4 * own.shape[1], CACHE_LINE // own.itemsize
    for t in range(0, fours, 4):
        a, b, c, d = own[t], own[t + 1], own[t + 2], own[t + 3]
        for i in range(four, 2 * four, line):
            _fetch_soon(a, i)
        for h in range(heads):
            start = h * kv_heads // heads * dim
            end = start + dim
            query, w = queries[h * dim : (h + 1) * dim], weights[h]
            ka, kb, kc, kd = a[start:end], b[start:end], c[start:end], d[start:end]
            wa = wb = wc = wd = np.float32(0)
            for i in range(dim):
                asked = query[i]
                wa += asked * wide(ka[i])
                wb += asked * wide(kb[i])
                wc += asked * wide(kc[i])
                wd += asked * wide(kd[i])
            w[t], w[t + 1], w[t + 2], w[t + 3] = wa, wb, wc, wd
    for t in range(fours, len(own)):
        row = own[t]
        for h in range(heads):
            start = h * kv_heads // heads * dim
            query, key = queries[h * dim : (h + 1) * dim], row[start : start + dim]
            dot = np.float32(0)
            for i in range(dim):
                dot += query[i] * wide(key[i])
            weights[h, t] = dot


@njit(**COMPILED)
def _softmax(row, size):
    largest = row[0]
    for t in range(size):
        largest = max(largest, row[t])
    total = np.float32(0)
    for t in range(size):
        row[t] = _exp(row[t] - largest)
        total += row[t]
    share = ONE / total
    for t in range(size):
        row[t] *= share


@njit(**COMPILED)
def _gather(weights, own, kv_heads, dim, sums):
    """sums [heads × dim] += Σ weight × value. Four tokens at a time: fewer passes over the sums."""
    heads, fours = len(weights), len(own) // 4 * 4
    for t in range(0, fours, 4):
        a, b, c, d = own[t], own[t + 1], own[t + 2], own[t + 3]
        for h in range(heads):
            start = (kv_heads + h * kv_heads // heads) * dim
            end = start + dim
            to, w = sums[h * dim : (h + 1) * dim], weights[h]
            va, vb, vc, vd = a[start:end], b[start:end], c[start:end], d[start:end]
            wa, wb, wc, wd = w[t], w[t + 1], w[t + 2], w[t + 3]
            for i in range(dim):
                to[i] += (wa * wide(va[i]) + wb * wide(vb[i])) + (wc * wide(vc[i]) + wd * wide(vd[i]))
    for t in range(fours, len(own)):
        row = own[t]
        for h in range(heads):
            start = (kv_heads + h * kv_heads // heads) * dim
            to, value, w = sums[h * dim : (h + 1) * dim], row[start : start + dim], weights[h, t]
            for i in range(dim):
                to[i] += w * wide(value[i])


@njit(**COMPILED)
def _up_to(positions, size, part, parts):
    """How many of the first `size` tokens have about part ÷ parts of the keys that all of them look at."""
    keys = 0
    for n in range(size):
        keys += positions[n] + 1
    share, n = keys * part // parts, 0
    while n < size and share > positions[n] // 2:
        share -= positions[n] + 1
        n += 1
    return n


@cache
def attention_share(bits: int) -> Any:
    """`turn_and_keep` of all tokens, then `attend` of the first ones, as a team's share (see lab.engine.team). fp32
    has 32 bits, bf16 16.

    Given are address and sizes of every [tokens, width] and of kept [places of the cache, width]; address and width
    of out [tokens, width]; address and size of turns [context, dim]; the address of positions [tokens]; address and
    size of places and of starts; then the heads turned, the KV heads and dim.
    """
    number, source = np.uint16 if bits == 16 else np.float32, SOURCE

    @cfunc(SHARE, cache=True)
    def share(given):
        if source < 0:  # never
            return
        thread, threads = asked(given[0]), asked(given[1])
        tokens, alone = given[4], given[17]
        heads, kv_heads, dim = given[18], given[19], given[20]
        every = carray(place(given[3]), (tokens, given[5]), number)
        kept = carray(place(given[6]), (given[7], given[8]), number)
        out = carray(place(given[9]), (tokens, given[10]), number)
        turns = carray(place(given[11]), (given[12], dim), np.float32)
        positions = carray(place(given[13]), (tokens,), np.int64)
        places = carray(place(given[14]), (given[15],), np.int64)
        starts = carray(place(given[16]), (alone,), np.int64)
        first, end = tokens * thread // threads, tokens * (thread + 1) // threads
        turn_and_keep(every, turns, positions, places, kept, heads, dim, first, end)
        wait(given[2])  # a prompt's tokens look at each other
        first, end = _up_to(positions, alone, thread, threads), _up_to(positions, alone, thread + 1, threads)
        attend(every, kept, starts, positions, kv_heads, dim, out, first, end)

    return share
