"""Mutants: small changes that a test must notice. Prints the score and what survives.

    python tools/mutation.py                     all mutants; exit code 1 when one survives that should not
    python tools/mutation.py --only resolve      those whose names begin so

Each mutant of `mutating/` is one piece of a file replaced by another, in a copy of the package that shadows the
installed one. The tests of its part of the package run on it until the first fails. A mutant that takes more time or
memory than all the tests need is killed, too: somebody waits for the run. Before that the tests run on the package as
it is: they must pass.
"""

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from mutating.mutant import Mutant
from mutating.table import MUTANTS

ROOT = Path(__file__).parent.parent

_CORE = (
    "tests/transforms/test_core_details.py",
    "tests/transforms/test_pass_details.py",
    "tests/transforms/test_untrusted.py",
)
_DEFUSE = "tests/transforms/test_defuse_ops.py"
_FUSE = "tests/transforms/test_fuse_ops.py"
_OUTLINING = "tests/transforms/test_outlining_details.py"
_PLAN = "tests/fusion/test_plan_details.py"
_BY_COST = "tests/transforms/test_fuse_by_cost.py"
_LAW = "tests/loops/test_law.py"
_COST, _ASSIGNMENT = "tests/fusion/test_cost.py", "tests/fusion/test_assignment.py"

TESTS: Mapping[str, Sequence[str]] = {
    "analysis": (
        _OUTLINING,
        *_CORE,
        "tests/fusion/kinds",
        "tests/analysis",
        _DEFUSE,
        _FUSE,
        "tests/transforms/test_fuse_ops_hw.py",
        "tests/transforms/test_argument_limit.py",
    ),
    "fusion": (_PLAN, _COST, _ASSIGNMENT, "tests/test_own_package.py", "tests/fusion", _FUSE, _BY_COST),
    "kinds": (*_CORE, "tests/fusion/kinds", _FUSE),
    "frontends/onnx": (
        "tests/frontends/test_onnx_results.py",
        "tests/frontends/test_onnx_import.py",
        "tests/frontends/test_onnx_dynamic.py",
        "tests/frontends/test_onnx_invalid.py",
        "tests/frontends/test_onnx_expansion.py",
        "tests/frontends/test_onnx_nodes.py",
    ),
    "targets/onnx": (
        "tests/targets/test_onnx_forms.py",
        "tests/frontends/test_onnx_results.py",
        "tests/targets/test_onnx_target.py",
    ),
    "interpreters": (
        "tests/interpreters",
        "tests/loops/test_ops_as_loops.py",
        "tests/backends/conformance/test_own_results.py",
        "tests/backends/conformance/test_limits.py",
        "tests/backends/test_loop_limits.py",
        "tests/tools/test_fuse_run.py",
    ),
    "backends/runtime": (
        "tests/backends/test_program_memory.py",
        "tests/backends/test_native_loops.py",
        "tests/backends/test_arena.py",
        "tests/backends/test_cache.py",
        "tests/backends/test_program.py",
        "tests/backends/conformance/test_views.py",
        "tests/backends/conformance/test_own_results.py",
        "tests/backends/conformance/test_limits.py",
        "tests/backends/test_entry_graph.py",
        "tests/backends/conformance/test_arguments.py",
        "tests/backends/test_interrupts.py",
    ),
    "backends/stored": ("tests/backends/stored", "tests/backends/test_cache.py"),
    "frontends/mlir": ("tests/backends/stored/test_file_states.py", "tests/tools/test_weights.py"),
    "frontends/onnx/tensors.py": ("tests/backends/stored/test_file_states.py", "tests/frontends/test_onnx_import.py"),
    "loops/meanings.py": ("tests/interpreters/test_scalar.py", "tests/interpreters", "tests/dialect/test_facets.py"),
    "kernels": (
        "tests/loops/test_choosing.py",
        "tests/backends/test_kernel_memory.py",
        "tests/loops/test_details.py",
        "tests/loops/test_simplify.py",
        "tests/loops/test_contraction.py",
        "tests/loops/test_indices.py",
        "tests/backends/llvm/test_pieces.py",
        "tests/backends/llvm/test_programs.py",
        "tests/backends/llvm/test_edges_of_code.py",
        "tests/backends/llvm/test_contractions.py",
    ),
    "backends/llvm": (
        "tests/backends/llvm/test_checked_kernels.py",
        "tests/backends/llvm/test_objects.py",
        "tests/backends/llvm/test_pieces.py",
        "tests/backends/llvm/test_vector_math.py",
        "tests/backends/llvm/test_scalars.py",
        "tests/backends/llvm/test_edges_of_code.py",
        "tests/backends/llvm/test_programs.py",
        "tests/backends/llvm/test_contractions.py",
    ),
    "extensions.py": ("tests/test_own_package.py",),
    "transforms": (
        _OUTLINING,
        *_CORE,
        "tests/transforms/test_constant_details.py",
        _DEFUSE,
        "tests/transforms/test_eliminate_common_subexpr.py",
        "tests/transforms/test_fold_constants.py",
        "tests/transforms/test_simplify_inference.py",
        "tests/transforms/test_fold_scale_axis.py",
        "tests/transforms/test_convert_layout.py",
        "tests/transforms/test_fuse_ops_hw.py",
        _FUSE,
    ),
}
"""For each part of the package the tests that its mutants meet, the fastest first."""
FIRST: Mapping[str, str] = {
    "fusion/core/plan.py": _PLAN,
    "fusion/core/decision.py": _PLAN,
    "fusion/core/value_graph.py": _PLAN,
    "fusion/ir/graph_facts.py": _OUTLINING,
    "transforms/outlining": _OUTLINING,
    "cost": _BY_COST,
    **dict.fromkeys(("loops/law.py", "loops/pairs.py", "loops/bounds.py", "loops/joins.py"), _LAW),
    "loops/local_places.py": "tests/backends/test_kernel_memory.py",
    "loops/choosing.py": "tests/loops/test_choosing.py",
    "backends/runtime/flow.py": "tests/backends/test_native_loops.py",
    "backends/runtime/control.py": "tests/backends/test_native_loops.py",
    "backends/runtime/control_layout.py": "tests/backends/test_native_loops.py",
    "loops/indices.py": "tests/loops/test_details.py",
    "backends/llvm/contractions": "tests/backends/llvm/test_contractions.py",
    "backends/assembler/elf.py": "tests/backends/llvm/test_objects.py",
    "backends/llvm/processors.py": "tests/backends/llvm/test_edges_of_code.py",
    "backends/llvm/vector_math.py": "tests/backends/llvm/test_vector_math.py",
    "backends/llvm/floats.py": "tests/backends/llvm/test_vector_math.py",
    "backends/llvm/scalars.py": "tests/backends/llvm/test_scalars.py",
    "backends/llvm/integers.py": "tests/backends/llvm/test_scalars.py",
    "backends/llvm/halves.py": "tests/backends/llvm/test_scalars.py",
    "backends/llvm/elements.py": "tests/backends/llvm/test_scalars.py",
    "backends/llvm": "tests/backends/llvm/test_edges_of_code.py",
}
"""For files and folders the test of the row that most likely notices a mutant; else it is the one of the same name."""
MOST_SECONDS, MOST_BYTES = 120, 2 << 30
"""For one mutant; the tests of a part take a minute at most and 500 MB."""


def part_of(mutant: Mutant) -> str:
    """The part of the package: the longest name of `TESTS` that the file stands below."""
    return max((part for part in TESTS if f"{mutant.file}/".startswith(f"{part}/")), key=len)


def main() -> int:
    """Print a line for each mutant; 1 when one survives."""
    parser = argparse.ArgumentParser(description="Mutants, and the tests that notice them.")
    parser.add_argument("--only", default="", metavar="PREFIX", help="mutants whose names begin so")
    parser.add_argument("--part", choices=tuple(TESTS), help="mutants of one part of the package")
    options = parser.parse_args()
    chosen = [
        mutant for mutant in MUTANTS if mutant.name.startswith(options.only) and options.part in (None, part_of(mutant))
    ]
    for part in dict.fromkeys(part_of(mutant) for mutant in chosen):
        _check_unchanged(part)
    verdicts = [(mutant, _is_killed(mutant)) for mutant in chosen]
    counted = [(mutant, killed) for mutant, killed in verdicts if not mutant.same_because]
    killed = Counter(part_of(mutant) for mutant, is_killed in counted if is_killed)
    for folder, count in Counter(part_of(mutant) for mutant, _ in counted).items():
        print(f"{folder}: {killed[folder]} of {count}")
    total = sum(killed.values())
    print(f"{total} of {len(counted)} mutants killed ({100 * total / max(1, len(counted)):.0f} %)")
    wrong = [mutant.name for mutant, is_killed in verdicts if is_killed == bool(mutant.same_because)]
    return 1 if wrong else 0


def _check_unchanged(part: str) -> None:
    """The tests of a part pass, within the limits, on the package as it is; if they did not, they would kill all."""
    with tempfile.TemporaryDirectory() as folder:
        _copy_package(folder)
        reason = _first_failure(folder, TESTS[part])
    if reason is not None:
        raise SystemExit(f"{part}: the tests do not pass on the package as it is: {reason}")


def _copy_package(folder: str) -> None:
    shutil.copytree(ROOT / "fuse_dialect", Path(folder) / "fuse_dialect", ignore=shutil.ignore_patterns("__pycache__"))


def _is_killed(mutant: Mutant) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        _copy_package(folder)
        path = Path(folder) / "fuse_dialect" / mutant.file
        text = path.read_text()
        if text.count(mutant.old) != 1:
            raise SystemExit(
                f"{mutant.name}: the piece to change stands {text.count(mutant.old)} times in {mutant.file}"
            )
        path.write_text(text.replace(mutant.old, mutant.new))
        reason = _first_failure(folder, _sorted_tests(mutant))
    verdict = "killed" if reason is not None else "same" if mutant.same_because else "SURVIVED"
    print(f"{verdict:8} {mutant.name:24} {(reason or mutant.same_because)[:100]}", flush=True)
    return reason is not None


def _limit() -> None:
    """Limit the process that is about to run the tests; time of the processor, which other work does not change."""
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


def _sorted_tests(mutant: Mutant) -> list[str]:
    """The tests of the part, that one first that `FIRST` names, or those that are named after the file."""
    places = [place for place in FIRST if f"{mutant.file}/".startswith(f"{place}/")]
    name = FIRST[max(places, key=len)] if places else Path(mutant.file).stem
    return sorted(TESTS[part_of(mutant)], key=lambda test: name not in test)


def _first_failure(folder: str, tests: Sequence[str]) -> str | None:
    """The first test that fails with the package in `folder`, or why there is none; `None` if all pass."""
    search = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
    command += ["--hypothesis-profile=first-failure", "--hypothesis-seed=0", *tests]
    run = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": search, "FUSE_TEST_ANY_PACKAGE": "1"},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=_limit,
    )
    if not run.returncode:
        return None
    if run.returncode == -signal.SIGXCPU:
        return f"more than {MOST_SECONDS} s"
    failed = (line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR")))
    return next(failed, f"pytest ends with {run.returncode}").removeprefix("FAILED ")


if __name__ == "__main__":
    sys.exit(main())
