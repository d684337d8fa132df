"""`torch.compile` with this backend beside PyTorch itself and beside its own compiler, on public architectures.

    python tools/bench_torch.py [NAME ...] [--threads 1] [--inductor] [--options strategy=cost] [--train]

The networks are those of `make_bench_models.py`, with random weights. Each is a process of its own. All ways of one
network take turns, and the best of the runs counts. The columns:

- difference: the greatest from PyTorch's own result, over the greatest element; of gradients, too, with `--train`;
- ms: of PyTorch (eager), of Inductor where asked for, and of this backend;
- compile: seconds of the first call;
- left: calls of operators that PyTorch runs, and which.

Exit code: 1 if a network fails, or a difference is above 1e-4.
"""

# torch is no dependency of the checks: it is not installed there, and says little about its types.
# pyright: basic, reportMissingImports=false

import argparse
import json
import logging
import subprocess
import sys
from collections import Counter
from math import exp, log
from time import perf_counter
from typing import Any

from population import images, others, text
from population.member import MEMBERS, as_if_trained

# Modules that enter their networks among `MEMBERS`.
_ = (images, text, others)
MOST_DIFFERENCE = 1e-4
ROUNDS = 7


def measured(name: str, threads: int, options: dict[str, Any], *, inductor: bool, train: bool) -> dict[str, Any]:
    """What one network gives."""
    import torch

    import fuse_dialect.pytorch.backend as backend

    torch.manual_seed(0)
    torch.set_num_threads(threads)
    member = MEMBERS[name]
    module = as_if_trained(member.build())
    module.train(train)
    inputs = list(member.inputs().values())
    left = Counter[str]()

    class Counting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            left[record.getMessage()] += 1

    backend.LOG.addHandler(Counting())
    backend.LOG.propagate = False

    def run(way: Any) -> Any:
        if not train:
            with torch.no_grad():
                return [way(*inputs)]
        module.zero_grad()
        torch.manual_seed(1)
        found = way(*inputs)
        torch.stack([each.float().square().mean() for each in _tensors(found)]).sum().backward()
        return [found, *(each.grad for each in module.parameters() if each.grad is not None)]

    ways = {
        "eager": module,
        "ours": torch.compile(module, backend="fuse_dialect", options=options | {"threads": threads}),
    }
    if inductor:
        ways["inductor"] = torch.compile(module)
    results, first, best = dict[str, Any](), dict[str, float](), dict[str, float]()
    for way, call in ways.items():
        torch._dynamo.reset() if way == "inductor" else None
        start = perf_counter()
        results[way] = [each.detach().clone() for each in _tensors(run(call))]
        first[way] = perf_counter() - start
    for _ in range(ROUNDS):
        for way, call in ways.items():
            start = perf_counter()
            run(call)
            best[way] = min(best.get(way, 1e9), perf_counter() - start)
    pairs = zip(results["eager"], results["ours"], strict=True)
    return {
        "difference": max((_difference(theirs, ours) for theirs, ours in pairs), default=0.0),
        "ms": {way: 1e3 * seconds for way, seconds in best.items()},
        "compile": first["ours"],
        "left": dict(left),
    }


def _tensors(value: Any) -> list[Any]:
    import torch
    from torch.utils._pytree import tree_leaves

    return [each for each in tree_leaves(value) if isinstance(each, torch.Tensor)]


def _difference(theirs: Any, ours: Any) -> float:
    if theirs.shape != ours.shape or theirs.dtype != ours.dtype:
        return float("inf")
    if not theirs.numel():
        return 0.0
    scale = max(float(theirs.double().abs().max()), 1e-3)
    return float((theirs.double() - ours.double()).abs().max()) / scale


def main() -> int:
    """Measure, and print a line for each network."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="default: all")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--inductor", action="store_true", help="measure PyTorch's own compiler, too")
    parser.add_argument("--train", action="store_true", help="forward and backward")
    parser.add_argument("--options", nargs="*", default=[], metavar="NAME=VALUE", help="of fuse_dialect.compile")
    parser.add_argument("--seconds", type=float, default=400, help="most for a network (default: 400)")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    options = dict(each.split("=", 1) for each in args.options)
    if args.one:
        found = measured(args.names[0], args.threads, options, inductor=args.inductor, train=args.train)
        print(json.dumps(found))
        return 0
    ratios, failed = dict[str, list[float]](), 0
    heads = [f"{head:>9}" for head in ("eager ms", "inductor", "ours")]
    print(f"{'network':<28} {'difference':>10}", *heads, f"{'ratio':>6} {'compile s':>9}  left")
    for name in args.names or list(MEMBERS):
        given = [sys.executable, __file__, name, "--one", "--threads", str(args.threads)]
        given += ["--inductor"] * args.inductor + ["--train"] * args.train
        given += ["--options", *args.options] if args.options else []
        try:
            done = subprocess.run(given, capture_output=True, text=True, timeout=args.seconds, check=False)
            found = json.loads(done.stdout.strip().splitlines()[-1]) if not done.returncode else None
            reason = "" if found else (done.stderr.strip().splitlines() or ["?"])[-1]
        except subprocess.TimeoutExpired:
            found, reason = None, f"more than {args.seconds:.0f} s"
        if found is None:
            failed += 1
            print(f"{name:<28} failed: {reason[:200]}", flush=True)
            continue
        ms = found["ms"]
        ratio = ms["ours"] / ms["eager"]
        for way in ("eager", "inductor"):
            if way in ms:
                ratios.setdefault(way, []).append(ms["ours"] / ms[way])
        failed += found["difference"] > MOST_DIFFERENCE
        left = "; ".join(text.removeprefix("PyTorch runs ").partition(", at ")[0] for text in found["left"])
        print(
            f"{name:<28} {found['difference']:10.1e} {ms['eager']:9.2f} {ms.get('inductor', float('nan')):9.2f}"
            f" {ms['ours']:9.2f} {ratio:6.2f} {found['compile']:9.1f}  {left}",
            flush=True,
        )
    for way, each in ratios.items():
        mean = exp(sum(map(log, each)) / len(each))
        faster = sum(ratio < 1 for ratio in each)
        print(f"over {way}: {mean:.2f} in the mean, faster on {faster} of {len(each)}")
    print(f"{failed} failed or differ")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
