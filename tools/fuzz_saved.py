"""Random programs saved, loaded in another process, and run there: equal to the bit to the program before.

    python tools/fuzz_saved.py --seed 0 --count 1000 [--cluster local:2]
    python tools/fuzz_saved.py --seed 0 --mutate 5000 [--cluster local:2]

One process compiles the programs of `fuzzing/generator.py`, runs and saves them, a portion at a time; another one loads
what it finds, and compares. With `--mutate` a few programs are saved, and their files are damaged: cut, flipped, parts
swapped, of another version, with code of another machine, with right hashes and other contents. Each must be an error
that says so, or give the right result, within 5 seconds and 500 MB. Exit code: 1 if anything differs.
"""

# pyright: basic

import argparse
import io
import json
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections import Counter
from pathlib import Path
from random import Random
from time import perf_counter

import numpy as np
from checking.cluster import add_cluster, spread
from fuzzing.generator import make_program
from fuzzing.program import RandomProgram
from xdsl.dialects.builtin import FunctionType, ModuleOp, TupleType
from xdsl.dialects.func import FuncOp, ReturnOp

import fuse_dialect as fd
from fuse_dialect.backends.runtime.hashing import digest_of
from fuse_dialect.backends.stored.archive import write_archive

PORTION, CLUSTER_PORTION = 50, 200
"""Programs of one process; and of one task on a cluster, which has as many damaged files."""
MOST_SECONDS, MOST_BYTES = 5.0, 500 << 20


def _with_results(module: ModuleOp, kept: list[int]) -> ModuleOp:
    """A program that returns some of its results; one that returns tuples is left as it is."""
    (main,) = (op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
    last = main.body.block.last_op
    assert isinstance(last, ReturnOp), "a function of a random program has one block"
    if any(isinstance(each.type, TupleType) for each in last.operands):
        return module
    last.operands = [last.operands[place] for place in kept]
    main.function_type = FunctionType.from_lists(main.function_type.inputs.data, [each.type for each in last.operands])
    return module


def _compiled(program: RandomProgram, random: Random) -> fd.Program:
    """A program; two of three return only what kernels write, since a file has machine code of these alone."""
    backend = random.choice(("llvm", "llvm", "llvm", "numpy"))
    options = {"strategy": random.choice(("tvm", "cost")), "threads": random.choice((1, 1, 2))}
    compiled = fd.compile(program.module(), backend, **options)
    executable = compiled._static
    if executable is None or backend == "numpy" or random.random() < 1 / 3:
        return compiled
    kept = [place for place, form in enumerate(executable.forms) if form is not None]
    if not kept or len(kept) == len(executable.forms):
        return compiled
    return fd.compile(_with_results(program.module(), kept), backend, **options)


def _save(folder: Path, first: int, end: int) -> int:
    """Compile, run and save the programs of some seeds; how many there are."""
    saved = 0
    for seed in range(first, end):
        random = Random(seed)
        program = make_program(seed)
        if program is None:
            continue
        try:
            compiled = _compiled(program, random)
            outputs = compiled(*program.inputs)
        except fd.FuseError:
            continue  # what the program rejects is not about files
        compiled.save(folder / f"{seed}.fuse")
        (folder / f"{seed}.pkl").write_bytes(pickle.dumps((program.inputs, outputs)))
        saved += 1
    return saved


def _load(folder: Path) -> int:
    """Load and run what was saved; 1 if anything differs."""
    wrong, kinds = 0, Counter()
    for path in sorted(folder.glob("*.fuse")):
        inputs, expected = pickle.loads(path.with_suffix(".pkl").read_bytes())
        try:
            program = fd.load(path)
            kinds[type(program).__name__] += 1
            found = program(*inputs)
            differs = [one.tobytes() != other.tobytes() for one, other in zip(found, expected, strict=True)]
            if any(differs):
                raise ValueError(f"output {differs.index(True)} differs")
        except Exception as error:
            wrong += 1
            print(f"seed {path.stem}: {type(error).__name__}: {error}", flush=True)
    print(json.dumps(kinds), flush=True)
    return 1 if wrong else 0


def _round_trips(seed: int, count: int) -> int:
    wrong, done, start, kinds = 0, 0, perf_counter(), Counter()
    for first in range(seed, seed + count, PORTION):
        with tempfile.TemporaryDirectory() as name:
            end = min(first + PORTION, seed + count)
            for arguments in (["--save", name, str(first), str(end)], ["--load", name]):
                run = subprocess.run(
                    [sys.executable, __file__, *arguments], capture_output=True, text=True, check=False
                )
                lines = run.stdout.splitlines()
                if run.returncode or not lines:
                    wrong += 1
                    print(
                        f"seeds {first} to {end - 1}, {arguments[0]}: {run.returncode}\n{run.stdout}",
                        run.stderr[-2000:],
                    )
                elif arguments[0] == "--load":
                    kinds.update(json.loads(lines[-1]))
                    done = kinds.total()
    print(f"{done} programs {dict(kinds)} in {perf_counter() - start:.0f} s, {wrong} portions with differences")
    return 1 if wrong else 0


TEXT = """
func.func @main(%x: tensor<4x48xf32>, %i: tensor<4xi64>) -> (tensor<4x16xf32>, tensor<4xf32>) {
  %w = arith.constant dense<"WEIGHT"> : tensor<16x48xf32>
  %t = arith.constant dense<"TABLE"> : tensor<5x16xf32>
  %g = fuse.take %t, %i, axis = 0 : (tensor<5x16xf32>, tensor<4xi64>)
  %p = fuse.dense %x, %w : (tensor<4x48xf32>, tensor<16x48xf32>)
  %s = fuse.add %p, %g : tensor<4x16xf32>
  %r = fuse.tanh %s : tensor<4x16xf32>
  %m = fuse.sum %r, axes = [1] : (tensor<4x16xf32>) -> tensor<4xf32>
  return %r, %m : tensor<4x16xf32>, tensor<4xf32>
}
"""


def _models() -> list[tuple[bytes, list[np.ndarray], list[bytes]]]:
    rng = np.random.default_rng(0)
    numbers = {
        name: rng.standard_normal(shape).astype(np.float32)
        for name, shape in (("WEIGHT", (16, 48)), ("TABLE", (5, 16)))
    }
    text = TEXT
    for name, array in numbers.items():
        text = text.replace(name, f"0x{array.tobytes().hex().upper()}")
    inputs = [rng.standard_normal((4, 48)).astype(np.float32), np.array([0, 4, 2, 1])]
    found = []
    for source in (
        text,
        text.replace("4x48xf32>, %i: tensor<4x", "?x48xf32>, %i: tensor<?x")
        .replace("<4x", "<?x")
        .replace("<4xf32", "<?xf32"),
    ):
        program = fd.compile(fd.parse(source))
        found.append((program.to_bytes(), inputs, [each.tobytes() for each in program(*inputs)]))
    return found


def _mutated(data: bytes, random: Random) -> tuple[str, bytes]:
    """A damaged file, and what was done to it."""
    kind = random.choice(
        ("cut", "flip", "flips", "swap", "splice", "version", "code", "contents", "manifest", "tensors", "text")
    )
    if kind == "cut":
        return kind, data[: random.randrange(len(data))]
    if kind in ("flip", "flips"):
        changed = bytearray(data)
        for _ in range(1 if kind == "flip" else random.randint(2, 64)):
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
        return kind, bytes(changed)
    if kind in ("swap", "splice"):
        first, second = sorted(random.randrange(len(data)) for _ in range(2))
        size = random.randint(1, 4096)
        if kind == "splice":
            return kind, data[:first] + data[second:]
        one, other = data[first : first + size], data[second : second + size]
        return kind, data[:first] + other + data[first + size : second] + one + data[second + size :]
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest, signature = json.loads(members.pop("manifest.json")), members.pop("signature.json", None)
    if kind == "version":
        manifest["version"] = random.choice([0, 2, 3, -1, "1", None, 1 << 70])
    elif kind == "code" and "code/image.bin" in members:
        members["code/image.bin"] = random.choice(
            [bytes(len(members["code/image.bin"])), random.randbytes(5000), b"\xcc" * 4096]
        )
        manifest["code"]["processor"] = ["flags\t\t: " + random.choice(["", "avx10", "sve2"])]
    elif kind == "contents":
        name = random.choice(sorted(members))
        changed = bytearray(members[name])
        for _ in range(random.randint(1, 8)):
            changed[random.randrange(len(changed))] = random.randrange(256)
        members[name] = bytes(changed)
    elif kind == "manifest":
        places = [(manifest, key) for key in manifest]
        while places:
            holder, key = random.choice(places)
            inner = holder[key]
            if isinstance(inner, dict | list) and len(inner) and random.random() < 0.8:
                places = [(inner, each) for each in (inner if isinstance(inner, dict) else range(len(inner)))]
                continue
            holder[key] = random.choice(
                [None, True, -1, 0, 1, 1 << 40, 1 << 70, "", "x", "../../etc/passwd", [], [1], {}, {"a": 1}, 0.5]
            )
            break
    elif kind == "tensors":
        whole = bytearray(members["constants.safetensors"])
        size = int.from_bytes(whole[:8], "little")
        head = bytes(whole[8 : 8 + size]).replace(
            random.choice([b"[16", b"F32", b"[0,", b"c1", b"5,"]),
            random.choice([b"[-1", b"F64", b"[9,", b"c0", b"99999999999,"]),
        )
        members["constants.safetensors"] = len(head).to_bytes(8, "little") + head + bytes(whole[8 + size :])
    elif kind == "text":
        text = members["program.mlir"].decode()
        for _ in range(random.randint(1, 3)):
            old, new = random.choice(
                [
                    ("16", "160000000"),
                    ("tensor<", "tensor<?x"),
                    ("fuse.", "fuse.no_"),
                    ("constant0", "constant1"),
                    ("dense_resource", "dense"),
                    ("%", "%%"),
                    ("f32", "f64"),
                    ("48", "4"),
                    ("tanh", "exp"),
                ]
            )
            text = text.replace(old, new, random.randint(1, 3))
        members["program.mlir"] = text.encode()
    if isinstance(manifest.get("members"), dict) and (kind != "manifest" or random.random() < 0.7):
        manifest["members"] = {
            name: {"bytes": len(each), "sha256": digest_of(memoryview(each)).hex()} for name, each in members.items()
        }
    stream = io.BytesIO()
    parts = [*members.items(), ("manifest.json", json.dumps(manifest).encode())]
    write_archive(
        stream, [(name, [each]) for name, each in [*parts, *([("signature.json", signature)] if signature else [])]]
    )
    return kind, stream.getvalue()


def _mutate(seed: int, count: int) -> int:
    """Load damaged files; 1 if one is no error and gives something else, or takes too much."""
    warnings.simplefilter("ignore")
    models, tally, wrong, slowest = _models(), Counter(), 0, 0.0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "m.fuse"
        for number in range(count):
            random = Random(seed + number)
            data, inputs, expected = random.choice(models)
            kind, changed = _mutated(data, random)
            path.write_bytes(changed)
            start = perf_counter()
            try:
                program = fd.load(path, trust=False)
                found = [each.tobytes() for each in program(*inputs)]
                is_same_model = kind not in ("contents", "tensors", "text", "manifest")
                verdict = "right" if found == expected else "another model" if not is_same_model else "wrong"
            except fd.FuseError as error:
                verdict = "internal error" if "internal error" in str(error) else "error"
                if verdict != "error":
                    print(f"{seed + number}, {kind}: {str(error)[:300]}", flush=True)
            except Exception as error:
                verdict = "exception"
                print(f"{seed + number}, {kind}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            slowest = max(slowest, perf_counter() - start)
            wrong += verdict in ("wrong", "exception", "internal error")
            tally[kind, verdict] += 1
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    for (kind, verdict), times in sorted(tally.items()):
        print(f"{times:>6}  {kind}: {verdict}")
    print(f"{count} files, {wrong} wrong, slowest {slowest:.2f} s, {taken / 2**20:.0f} MB more than before")
    return 1 if wrong or slowest > MOST_SECONDS or taken > MOST_BYTES else 0


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Random programs saved, loaded in another process, and run there.")
    parser.add_argument("--seed", type=int, default=0, help="of the first program (default: 0)")
    parser.add_argument("--count", type=int, default=1000, help="programs (default: 1000)")
    parser.add_argument("--mutate", type=int, metavar="N", help="damage N files in place of that")
    parser.add_argument("--save", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--load", help=argparse.SUPPRESS)
    add_cluster(parser)
    options = parser.parse_args()
    if options.cluster is not None:
        counted_by = "--count" if options.mutate is None else "--mutate"
        seeds = range(options.seed, options.seed + (options.count if options.mutate is None else options.mutate))
        return spread(options.cluster, __file__, None, seeds, CLUSTER_PORTION, counted_by=counted_by)
    warnings.simplefilter("ignore")
    if options.save:
        folder, first, end = options.save
        print(_save(Path(folder), int(first), int(end)))
        return 0
    if options.load:
        return _load(Path(options.load))
    if options.mutate is not None:
        return _mutate(options.seed, options.mutate)
    with tempfile.TemporaryDirectory(prefix="fuse-cache-") as folder:
        os.environ.setdefault("FUSE_CACHE_DIR", folder)
        return _round_trips(options.seed, options.count)


if __name__ == "__main__":
    sys.exit(main())
