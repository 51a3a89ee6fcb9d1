"""A matrix product's innermost loop, written for the machine: a tile of the result stays in registers.

Weights lie in the order in which they are read, so that memory streams: blocks of BLOCK outputs, within a block
one word of each output after the other. A word is 32 bits: one fp32 number, or two neighbouring bf16 ones. Each
thread takes a range of blocks, and for each block all rows, a tile of them at a time; what comes next is asked for
while this is computed.

Compiled by numba on first use and kept on disk. Refuses to know torch and which product is quickest where; see
lab.engine.linear.
"""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import Any, NamedTuple

from llvmlite import binding, ir
from numba import cfunc, types
from numba.core import cgutils, config
from numba.extending import intrinsic

from lab.engine.team import SHARE, SOURCE, asked, team

WORD = 4  # bytes
ALIGNED = 64  # bytes: where weights may begin
AHEAD = 4096  # bytes that memory is asked for before they are used
VECTORS = 2  # side by side in a tile
CACHED = 1 << 18  # bytes of x that are gone through again for every block: they should lie in a core's own cache

FP32, PAIRS, WIDENED = 0, 1, 2
"""What is in a word, and how two are multiplied: fp32; two bf16 by the instruction for it; two bf16 made fp32."""

_I32, _I64, _F32 = ir.IntType(32), ir.IntType(64), ir.FloatType()


class _BFloat(ir.types._BaseFloatType):  # type: ignore[misc] # llvmlite has no word for LLVM's bfloat
    null = "0.0"
    intrinsic_name = "bf16"

    def __str__(self) -> str:
        return "bfloat"


_BFloat._create_instance()


class Kind(NamedTuple):
    """How this CPU computes: `product` is one of FP32, PAIRS and WIDENED; a vector has `lanes` words."""

    product: int
    lanes: int

    @property
    def block(self) -> int:
        """Outputs that lie together."""
        return self.lanes * VECTORS

    @property
    def rows(self) -> tuple[int, int]:
        """Of a tile, where there are as many, and of the next smaller: as many as the CPU has registers for."""
        if self.lanes == 16:
            return 12, 8
        return (6, 4) if self.product == FP32 else (4, 4)


class _Emitter:
    """LLVM's words for one tile: `rows` rows × VECTORS vectors of outputs."""

    def __init__(self, builder: Any, kind: Kind, rows: int) -> None:
        self._b, self._kind, self._rows = builder, kind, rows
        self._words, self._floats = ir.VectorType(_I32, kind.lanes), ir.VectorType(_F32, kind.lanes)

    def emit(self, weights: Any, x: Any, steps: Any, out: Any, out_stride: Any) -> None:
        """out[row] = Σ over `steps` words. Addresses and strides in bytes; a row of x has `steps` words."""
        b, before = self._b, self._b.block
        loop, end = b.append_basic_block("words"), b.append_basic_block("summed")
        rows = [b.add(x, b.mul(b.mul(steps, _I64(WORD)), _I64(row))) for row in range(self._rows)]
        b.branch(loop)
        b.position_at_end(loop)
        step, sums = b.phi(_I64), [[b.phi(self._floats) for _ in range(VECTORS)] for _ in rows]
        at = b.add(weights, b.mul(step, _I64(self._kind.block * WORD)))
        self._ask_for(b.add(at, _I64(AHEAD)))
        loaded = [self._load(b.add(at, _I64(i * self._kind.lanes * WORD))) for i in range(VECTORS)]
        new = []
        for row, own in zip(rows, sums, strict=True):
            spread = self._spread(b.add(row, b.mul(step, _I64(WORD))))
            new.append([self._multiply_add(w, spread, total) for w, total in zip(loaded, own, strict=True)])
        following = b.add(step, _I64(1))
        zero = ir.Constant(self._floats, [0.0] * self._kind.lanes)
        of_sums = ((phi, zero, value) for phi, value in zip(chain(*sums), chain(*new), strict=True))
        for phi, first, then in ((step, _I64(0), following), *of_sums):
            phi.add_incoming(first, before)
            phi.add_incoming(then, loop)
        b.cbranch(b.icmp_signed("<", following, steps), loop, end)
        b.position_at_end(end)
        for row, values in enumerate(new):
            self._store(values, b.add(out, b.mul(out_stride, _I64(row))))

    def _ask_for(self, address: Any) -> None:
        byte = ir.IntType(8).as_pointer()
        for line in range(0, self._kind.block * WORD, 64):
            place = self._b.inttoptr(self._b.add(address, _I64(line)), byte)
            self._call("llvm.prefetch.p0", ir.VoidType(), place, _I32(0), _I32(3), _I32(1))  # to read, every cache

    def _load(self, address: Any) -> Any:
        return self._b.load(self._b.inttoptr(address, self._words.as_pointer()), align=self._kind.lanes * WORD)

    def _spread(self, address: Any) -> Any:
        """One word of x in every lane."""
        word = self._b.load(self._b.inttoptr(address, _I32.as_pointer()), align=WORD)
        nothing = ir.Constant(self._words, ir.Undefined)
        lanes = ir.Constant(ir.VectorType(_I32, self._kind.lanes), [0] * self._kind.lanes)
        return self._b.shuffle_vector(self._b.insert_element(nothing, word, _I32(0)), nothing, lanes)

    def _multiply_add(self, w: Any, x: Any, total: Any) -> Any:
        b = self._b
        if self._kind.product == FP32:
            return self._fused(b.bitcast(w, self._floats), b.bitcast(x, self._floats), total)
        if self._kind.product == WIDENED:
            return self._fused(self._upper(w), self._upper(x), self._fused(self._lower(w), self._lower(x), total))
        pairs = ir.VectorType(_BFloat(), 2 * self._kind.lanes)
        name = "llvm.x86.avx512bf16.dpbf16ps.512"
        return self._call(name, self._floats, total, b.bitcast(w, pairs), b.bitcast(x, pairs))

    def _fused(self, a: Any, b: Any, c: Any) -> Any:
        return self._call(f"llvm.fma.v{self._kind.lanes}f32", self._floats, a, b, c)

    def _call(self, name: str, gives: Any, *given: Any) -> Any:
        takes = ir.FunctionType(gives, [value.type for value in given])
        return self._b.call(cgutils.get_or_insert_function(self._b.module, takes, name), given)

    def _lower(self, words: Any) -> Any:
        """The first bf16 of each word, as fp32."""
        return self._b.bitcast(self._b.shl(words, self._all(16)), self._floats)

    def _upper(self, words: Any) -> Any:
        return self._b.bitcast(self._b.and_(words, self._all(-65536)), self._floats)

    def _all(self, value: int) -> Any:
        return ir.Constant(self._words, [value] * self._kind.lanes)

    def _store(self, values: Any, address: Any) -> None:
        for i, value in enumerate(values):
            stored = value if self._kind.product == FP32 else self._rounded(value)
            size = WORD if self._kind.product == FP32 else WORD // 2
            place = self._b.add(address, _I64(i * self._kind.lanes * size))
            self._b.store(stored, self._b.inttoptr(place, stored.type.as_pointer()), align=size)

    def _rounded(self, value: Any) -> Any:
        """The nearest bf16, ties to even, as its 16 bits."""
        b, bits = self._b, self._b.bitcast(value, self._words)
        odd = b.and_(b.lshr(bits, self._all(16)), self._all(1))
        nearest = b.lshr(b.add(b.add(bits, self._all(0x7FFF)), odd), self._all(16))
        return b.trunc(nearest, ir.VectorType(ir.IntType(16), self._kind.lanes))


@intrinsic(prefer_literal=True)
def _tile(_context, product, lanes, rows, weights, x, steps, out, out_stride):
    """See `_Emitter.emit`; product, lanes and rows are known when this is compiled."""
    kind, size = Kind(product.literal_value, lanes.literal_value), rows.literal_value

    def emit(context, builder, _, args):
        _Emitter(builder, kind, size).emit(*args[3:])
        return context.get_dummy_value()

    return types.void(product, lanes, rows, *[types.intp] * 5), emit


@cache
def _share_of(kind: Kind) -> Any:
    """The C function that each thread of a team runs, for its share of the blocks. See Product."""
    (product, lanes), block, (many, fewer) = kind, kind.block, kind.rows
    size, source = WORD if product == FP32 else WORD // 2, SOURCE

    @cfunc(SHARE, cache=True)
    def share(given):
        if source < 0:  # never
            return
        thread, threads = asked(given[0]), asked(given[1])
        weights, blocks, steps, x, out, rows = given[3], given[4], given[5], given[6], given[7], given[8]
        x_stride, out_stride, block_bytes = steps * WORD, blocks * block * size, steps * block * WORD
        together = max(1, CACHED // (x_stride * many)) * many
        for start in range(0, rows, together):
            end = min(rows, start + together)
            for at in range(blocks * thread // threads, blocks * (thread + 1) // threads):
                w, row = weights + at * block_bytes, start
                while row < end:
                    from_, to = x + row * x_stride, out + row * out_stride + at * block * size
                    if end - row >= many:
                        _tile(product, lanes, many, w, from_, steps, to, out_stride)
                        row += many
                    elif end - row >= fewer:
                        _tile(product, lanes, fewer, w, from_, steps, to, out_stride)
                        row += fewer
                    elif end - row >= 4:
                        _tile(product, lanes, 4, w, from_, steps, to, out_stride)
                        row += 4
                    elif end - row >= 2:
                        _tile(product, lanes, 2, w, from_, steps, to, out_stride)
                        row += 2
                    else:
                        _tile(product, lanes, 1, w, from_, steps, to, out_stride)
                        row += 1

    return share


class Product:
    """x Wᵀ for weights that lie packed at an address: `blocks` of `kind.block` outputs, `steps` words each."""

    def __init__(self, kind: Kind, weights: int, blocks: int, steps: int) -> None:
        self._team, self._share, self._packed = team(), _share_of(kind).address, (weights, blocks, steps)

    def __call__(self, x: int, out: int, rows: int, threads: int) -> None:
        """From and to addresses: x [rows, steps words], out [rows, blocks × outputs], without gaps."""
        self._team.run(self._share, (*self._packed, x, out, rows), threads)


def kind_of(dtype: str) -> Kind:
    """How this CPU multiplies "fp32" or "bf16", compiled. LookupError without wide registers or GNU's OpenMP,
    RuntimeError where numba finds no folder to keep what it compiles."""
    team()
    if config.CPU_NAME or config.CPU_FEATURES or not config.ENABLE_AVX:
        raise LookupError("numba was told to compile for some other CPU")
    has = binding.get_host_cpu_features()
    lanes = 16 if has.get("avx512f") else 8 if has.get("avx2") and has.get("fma") else 0
    if not lanes:
        raise LookupError("this CPU has no wide registers")
    kind = Kind(FP32 if dtype == "fp32" else PAIRS if has.get("avx512bf16") else WIDENED, lanes)
    _share_of(kind)
    return kind
