"""Compares every byte of a record with a range of its own, in a few vector instructions.

A loop over the bytes would do the same, but whether LLVM vectorises it depends on details of the loop, and it is ten times slower
if LLVM does not. This module knows nothing about the game. Read `kernels.py` for how kernels are compiled.
"""

from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from bombay_env.jit.cache import CONFIG

DECLARE: Any = cgutils.get_or_insert_function  # untyped
WIDTH: Final = 64  # bytes compared at once; LLVM splits them where the processor's vectors are shorter


def _has_byte_outside(typing_context: Any, record: Any, lowest: Any, span: Any) -> Any:
    """Numba's form of `has_byte_outside`: the types of the call, and a function that generates its code."""
    size = record.size
    if size < WIDTH or not size == lowest.size == span.size:
        raise TypeError(f"records must have the same size, at least {WIDTH} bytes")
    vector = ir.VectorType(ir.IntType(8), WIDTH)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        two_vectors = ir.FunctionType(vector, [vector, vector])
        subtract_to_zero = DECLARE(builder.module, two_vectors, f"llvm.usub.sat.v{WIDTH}i8")

        def load(address: Any, offset: int) -> Any:
            first = builder.bitcast(address, ir.IntType(8).as_pointer())
            place = builder.gep(first, [ir.Constant(ir.IntType(64), offset)])
            return builder.load(builder.bitcast(place, vector.as_pointer()), align=1)

        excess = ir.Constant(vector, [0] * WIDTH)
        for offset in [*range(0, size - WIDTH, WIDTH), size - WIDTH]:  # the last vector may overlap the one before
            found, low, most = (load(address, offset) for address in arguments)
            above_lowest = builder.sub(found, low)  # wraps around, so a byte below its lowest value is far above it
            excess = builder.or_(excess, builder.call(subtract_to_zero, [above_lowest, most]))
        whole = ir.IntType(8 * WIDTH)
        return builder.icmp_unsigned("!=", builder.bitcast(excess, whole), ir.Constant(whole, 0))

    return types.boolean(record, lowest, span), generate


def _compare_bytes(record: Any, lowest: Any, span: Any) -> bool:
    """`has_byte_outside` with the compiler off."""
    found, low, most = (np.frombuffer(each.tobytes(), np.uint8) for each in (record, lowest, span))
    return bool((found - low > most).any())


# Whether any byte of `record` is outside its range: the byte of `lowest` in the same place is the lowest value, and the byte of
# `span` is the number of further values, counted upwards modulo 256. All three are records of the same size. For kernels.
has_byte_outside: Any = _compare_bytes if CONFIG.DISABLE_JIT else intrinsic(_has_byte_outside)
