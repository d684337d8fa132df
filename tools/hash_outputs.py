"""Digests of what the package writes for many programs, to be compared before and after a change of its structure.

    python tools/hash_outputs.py -o before.json               # of what is committed
    python tools/hash_outputs.py --compare before.json        # exit code 1 and the names of what differs

A commit that only moves code changes no byte of these: the module after `fuse-ops` with both strategies, its loops, and
the text of each kernel as it is compiled, with what its callers must know, for processors of each kind. Programs are
those of the tests and of `onnx`, the networks of the records, random programs, and whatever is named.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from io import StringIO
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "fusion"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "transforms"))

import onnx
from checking.cluster import add_cluster, in_order
from fuzzing.generator import make_program
from recorded_graphs import recorded
from relay_networks import Network
from xdsl.dialects.builtin import ModuleOp

import fuse_dialect as fd
from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.compile import compile_program
from fuse_dialect.backends.llvm.backend import LLVMBackend
from fuse_dialect.backends.llvm.processors import named
from fuse_dialect.backends.options import CompileOptions
from fuse_dialect.frontends.mlir.reader import context
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.loops.program import Refusal
from fuse_dialect.targets.loops import LoopsTarget

ROOT = Path(__file__).resolve().parent.parent
PROCESSORS = ("x86-64-v2", "haswell", "skylake-avx512", "sapphirerapids", "neoverse-n1")
"""Vectors of 16, 32 and 64 bytes, without and with dot products of bytes, and another architecture."""
STRATEGIES = ("tvm", "cost")
MACHINE = "cpu-avx512"
"""Of plans without code: whoever compares has another processor perhaps."""
LIGHT_MODELS = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
STAGE = "build_prefix_O3_no_alter"
"""Of the recorded networks: batch norms are folded by then."""


class Digest:
    """A backend that compiles nothing: it keeps digests of the kernels that are asked for."""

    layout = LLVMBackend.layout

    def __init__(self, processor: str):
        """For a processor by name."""
        self._backend = LLVMBackend(target=named(processor))
        self.name = self._backend.name
        self.machine = self._backend.machine
        self.kernels: list[str] = []

    def compile(self, requests: Sequence[KernelRequest]) -> list[Refusal]:
        """Note the texts."""
        for request in requests:
            kernel = self._backend.emit(request)
            if isinstance(kernel, Refusal):
                said = kernel.reason
            else:
                packings = sorted((place, repr(packing)) for place, packing in kernel.packings.items())
                facts = (
                    kernel.family,
                    kernel.symbol,
                    kernel.workspace_bytes,
                    kernel.parallel,
                    packings,
                    kernel.checked,
                )
                said = f"{kernel.ir_text}\n{facts}"
            self.kernels.append(said)
        return [Refusal("only its text is wanted") for _ in requests]


def sources(files: Iterable[Path], count: int) -> Iterator[tuple[str, Callable[[], ModuleOp]]]:
    """Programs by name: those of files, of the tests, of the records, and random ones.

    Args:
        files: Files, and folders of files.
        count: Number of random programs.
    """
    folders = [ROOT / "tests" / "data" / "jax", ROOT / "tests" / "data" / "torch", LIGHT_MODELS, *files]
    for given in folders:
        found = [given] if given.is_file() else sorted(p for p in given.rglob("*") if p.suffix in (".mlir", ".onnx"))
        for path in found:
            yield f"{path.parent.name}/{path.name}", partial(fd.read, path)
    for case in [*recorded("zoo"), *recorded("handmade")]:
        if case["stage"] == STAGE:
            yield f"recorded/{case['name']}", partial(_recorded, case["name"])
    for seed in range(count):
        yield f"random/{seed}", partial(_random, seed)


def _recorded(name: str) -> ModuleOp:
    case = next(c for c in [*recorded("zoo"), *recorded("handmade")] if (c["name"], c["stage"]) == (name, STAGE))
    return Network(case, constant_parameters=True).module


def _random(seed: int) -> ModuleOp:
    program = make_program(seed)
    if program is None:
        raise ValueError(f"seed {seed} makes no program")
    return program.module()


def digests(name: str, build: Callable[[], ModuleOp]) -> dict[str, str]:
    """Digests by program and output; what cannot be read or compiled has the digest of the error's text."""
    found: dict[str, str] = {}

    def note(what: str, write: Callable[[], str]) -> None:
        try:
            text = write()
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
        found[f"{name} {what}"] = sha256(text.encode()).hexdigest()[:16]

    for strategy in STRATEGIES:
        note(f"fuse-ops {strategy}", lambda strategy=strategy: _fused(build(), strategy))
    note("loops", lambda: _loops(fd.fuse_ops(build())))
    for processor in PROCESSORS:
        for strategy in STRATEGIES if processor == "haswell" else STRATEGIES[:1]:
            note(f"kernels {processor} {strategy}", lambda p=processor, s=strategy: _kernels(build(), p, s))
    return found


def _digests(item: tuple[str, Callable[[], ModuleOp]]) -> dict[str, str]:
    return digests(*item)


def _fused(module: ModuleOp, strategy: str) -> str:
    return str(fd.fuse_ops(module, strategy=strategy, machine=MACHINE))


def _loops(module: ModuleOp) -> str:
    output = StringIO()
    LoopsTarget().emit(context(), module, output)
    return output.getvalue()


def _kernels(module: ModuleOp, processor: str, strategy: str) -> str:
    backend = Digest(processor)
    compile_program(
        module, CompileOptions(backend=backend, specialize=False, fuse=FuseOpsPass(strategy=strategy)), in_place=True
    )
    return "\n".join(backend.kernels)


def compared(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """A line for each output that differs, or is on one side alone."""
    lines = [f"{name}: differs" for name in before if name in now and before[name] != now[name]]
    lines += [f"{name}: is new" for name in now if name not in before]
    return [*lines, *(f"{name}: is gone" for name in before if name not in now)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Digests of what the package writes for many programs.")
    parser.add_argument("files", nargs="*", type=Path, help="more .mlir and .onnx files, or folders of them")
    parser.add_argument("--random", type=int, default=150, help="number of random programs (default: 150)")
    parser.add_argument("--only", default="", help="only programs whose names hold this text")
    add_cluster(parser)
    parser.add_argument("-o", "--output", type=Path, help="write the digests to this file")
    parser.add_argument("--compare", type=Path, help="a file of earlier digests")
    options = parser.parse_args(arguments)
    wanted = [(name, build) for name, build in sources(options.files, options.random) if options.only in name]
    now: dict[str, str] = {}
    for found in in_order(options.cluster, _digests, wanted):
        now |= found
    print(f"{len(wanted)} programs, {len(now)} outputs: {sha256(json.dumps(now).encode()).hexdigest()[:16]}")
    if options.output is not None:
        options.output.write_text(json.dumps(now, indent=0))
    if options.compare is None:
        return 0
    before = {name: each for name, each in json.loads(options.compare.read_text()).items() if options.only in name}
    differences = compared(before, now)
    print("\n".join(differences) or "no difference")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
