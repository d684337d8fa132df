"""What the machine can do at best: memory traffic of `b = a * k`, and multiply-adds on registers.

Both kernels are LLVM IR that llvmlite compiles, as wide as the host's vectors. Without llvmlite NumPy measures the
traffic, and its matrix product stands for the multiply-adds, which is less than the machine can do.
"""

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np

from .engines import aligned_empty

ELEMENTS = 1 << 24
"""Of each array: 64 MiB, more than caches hold."""
PASSES = 4
"""Over the arrays in one call."""
STEPS = 2_000_000
"""Of the loop on registers."""
ACCUMULATORS = 12
"""Independent chains: latency of a multiply-add times how many start in a cycle is at most 10 on today's cores."""
REPEAT = 4
GEMM_SIZE = 1024

_SCALE = """
define void @scale(ptr noalias %in, ptr noalias %out, i64 %n, i64 %passes) {{
entry:
  br label %pass
pass:
  %p = phi i64 [ 0, %entry ], [ %p1, %done ]
  br label %loop
loop:
  %i = phi i64 [ 0, %pass ], [ %i1, %loop ]
  %from = getelementptr float, ptr %in, i64 %i
  %to = getelementptr float, ptr %out, i64 %i
  %x = load <{width} x float>, ptr %from, align 4
  %y = fmul <{width} x float> %x, splat (float 0.5)
  store <{width} x float> %y, ptr %to, align 4
  %i1 = add i64 %i, {width}
  %more = icmp ult i64 %i1, %n
  br i1 %more, label %loop, label %done
done:
  %p1 = add i64 %p, 1
  %again = icmp ult i64 %p1, %passes
  br i1 %again, label %pass, label %end
end:
  ret void
}}
"""


def _fma_text(width: int) -> str:
    vector = f"<{width} x float>"
    chains = range(ACCUMULATORS)
    phis = "\n".join(f"  %a{k} = phi {vector} [ splat (float {float(k)}), %entry ], [ %b{k}, %loop ]" for k in chains)
    steps = "\n".join(
        f"  %b{k} = call {vector} @llvm.fma.v{width}f32({vector} %a{k}, {vector} splat (float 0.5),"
        f" {vector} splat (float 1.0))"
        for k in chains
    )
    sums = "\n".join(f"  %s{k + 1} = fadd {vector} %s{k}, %b{k + 1}" for k in range(ACCUMULATORS - 1))
    return f"""
declare {vector} @llvm.fma.v{width}f32({vector}, {vector}, {vector})
define float @fma(i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
{phis}
{steps}
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %n
  br i1 %more, label %loop, label %end
end:
  %s0 = fadd {vector} %b0, zeroinitializer
{sums}
  %first = extractelement {vector} %s{ACCUMULATORS - 1}, i64 0
  ret float %first
}}
"""


@cache
def _kernels() -> tuple[Any, Any, int, Any]:
    """`scale`, `fma`, elements of a vector, and the engine that owns the code.

    Raises:
        ImportError: llvmlite is not installed.
    """
    llvm = import_module("llvmlite.binding")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    width = 16 if features.get("avx512f") else 8 if features.get("avx2") else 4
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features.flatten(), opt=3
    )
    module = llvm.parse_assembly(_SCALE.format(width=width) + _fma_text(width))
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    pointer, count = ctypes.c_void_p, ctypes.c_int64
    scale = ctypes.CFUNCTYPE(None, pointer, pointer, count, count)(engine.get_function_address("scale"))
    fma = ctypes.CFUNCTYPE(ctypes.c_float, count)(engine.get_function_address("fma"))
    return scale, fma, width, engine


@cache
def _arrays() -> tuple[Any, Any]:
    return aligned_empty((ELEMENTS,)), aligned_empty((ELEMENTS,))


def measure_limits(threads: int) -> dict[str, Any]:
    """GB/s of `stream`, GFLOP/s of `fma` and of NumPy's matrix product `sgemm`, and `how` they were measured."""
    gemm = _sgemm()
    source, target = _arrays()
    part = ELEMENTS // threads
    try:
        scale, fma, width, _ = _kernels()
    except ImportError:
        stream = _best_rate(
            threads,
            lambda k: np.multiply(source[k * part : (k + 1) * part], 0.5, out=target[k * part : (k + 1) * part]),
            8 * ELEMENTS,
        )
        return {"stream": stream, "fma": gemm, "sgemm": gemm, "how": "NumPy; sgemm for the peak"}
    stream = _best_rate(
        threads,
        lambda k: scale(source[k * part :].ctypes.data, target[k * part :].ctypes.data, part, PASSES),
        8 * ELEMENTS * PASSES,
    )
    flops = _best_rate(threads, lambda _: fma(STEPS), 2 * width * ACCUMULATORS * STEPS * threads)
    return {"stream": stream, "fma": flops, "sgemm": gemm, "how": f"llvmlite, vectors of {width}"}


def _best_rate(threads: int, work: Callable[[int], object], amount: int) -> float:
    """Billions a second of what `work` does in all threads together."""
    best = float("inf")
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(REPEAT):
            start = perf_counter()
            for done in [pool.submit(work, index) for index in range(threads)]:
                done.result()
            best = min(best, perf_counter() - start)
    return amount / best / 1e9


def _sgemm() -> float:
    a = np.ones((GEMM_SIZE, GEMM_SIZE), np.float32)
    best = float("inf")
    for _ in range(REPEAT):
        start = perf_counter()
        np.matmul(a, a)
        best = min(best, perf_counter() - start)
    return 2 * GEMM_SIZE**3 / best / 1e9
