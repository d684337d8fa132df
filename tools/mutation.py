"""Mutants of the core: small changes that a test must notice. Prints the score and what survives.

    python tools/mutation.py                     all mutants; exit code 1 when one survives
    python tools/mutation.py --only resolve      those whose names begin so

Each mutant is one piece of a file replaced by another, in a copy of the package that shadows the installed one. The
tests in `TESTS` run on it until the first fails.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent

TESTS = (
    "tests/transforms/test_core_details.py",
    "tests/transforms/test_untrusted.py",
    "tests/kinds",
    "tests/fusion/test_rules.py",
    "tests/transforms/test_fuse_ops.py",
    "tests/fusion/test_partition.py",
)
"""The fastest first: most mutants die there."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change."""

    name: str
    file: str
    """Below `fuse_dialect`."""
    old: str
    """Stands in the file once."""
    new: str


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "key-of-results",
        "analysis/block_graph.py",
        "if place is not None and len(op.results) == 1:\n                return place",
        "if place is not None and len(op.results) >= 1:\n                return place",
    ),
    Mutant(
        "resolve-once",
        "transforms/outlining/rewiring.py",
        "while value in replacement and",
        "if value in replacement and",
    ),
    Mutant(
        "order-of-dead-ops",
        "analysis/block_graph.py",
        "                builder.check_order(place, op)\n",
        "",
    ),
    Mutant(
        "barrier-of-other-type",
        "transforms/outlining/outline.py",
        "isinstance(op, StopFusionOp) and op.result.type == op.input.type",
        "isinstance(op, StopFusionOp)",
    ),
    Mutant("escaping-outputs", "analysis/block_graph.py", "    builder.escaping.update(outputs)\n", ""),
    Mutant(
        "dead-again",
        "transforms/outlining/outline_functions.py",
        "    return is_more\n",
        "    return False\n",
    ),
    Mutant("captured-order", "analysis/ssa.py", "(*each.operands, *known[each])", "(*known[each], *each.operands)"),
    Mutant("captured-inner", "analysis/ssa.py", "if _block_of(value) not in blocks", "if True"),
    Mutant("effects-nested", "kinds/region_effects.py", "or (bool(each.regions) and known[each])", ""),
    Mutant("effects-any", "kinds/region_effects.py", "known[inner] = any(", "known[inner] = all("),
    Mutant("memref-operand", "kinds/kind_of.py", "if not op.results or any(", "if any("),
    Mutant("pinned", "transforms/defuse_ops.py", "            table.pinned = pinned\n", ""),
    Mutant("call-attributes", "transforms/defuse_ops.py", "    return not call.attributes\n", "    return True\n"),
    Mutant(
        "copies-counted",
        "transforms/defuse_ops.py",
        "if not is_last and not budget.take",
        "if False and not budget.take",
    ),
    Mutant("moves-free", "transforms/defuse_ops.py", "if not is_last and not budget.take", "if not budget.take"),
    Mutant(
        "used-results",
        "transforms/outlining/group.py",
        "    return used or list(op.results)",
        "    return list(op.results)",
    ),
    Mutant(
        "key-of-floats",
        "transforms/outlining/primitives.py",
        'pack("<d", attribute.value.data)',
        'pack("<f", attribute.value.data)',
    ),
)
"""Changes of behaviour, each of which a user could notice."""


def main() -> int:
    """Print a line for each mutant; 1 when one survives."""
    parser = argparse.ArgumentParser(description="Mutants of the core, and the tests that notice them.")
    parser.add_argument("--only", default="", metavar="PREFIX", help="mutants whose names begin so")
    options = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if mutant.name.startswith(options.only)]
    survivors = [mutant.name for mutant in chosen if not _is_killed(mutant)]
    killed = len(chosen) - len(survivors)
    print(f"{killed} of {len(chosen)} mutants killed ({100 * killed / max(1, len(chosen)):.0f} %)")
    return 1 if survivors else 0


def _is_killed(mutant: Mutant) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(
            ROOT / "fuse_dialect", Path(folder) / "fuse_dialect", ignore=shutil.ignore_patterns("__pycache__")
        )
        path = Path(folder) / "fuse_dialect" / mutant.file
        text = path.read_text()
        if text.count(mutant.old) != 1:
            raise SystemExit(
                f"{mutant.name}: the piece to change stands {text.count(mutant.old)} times in {mutant.file}"
            )
        path.write_text(text.replace(mutant.old, mutant.new))
        search = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH", "")]))
        command = [sys.executable, "-P", "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *TESTS]
        run = subprocess.run(
            command, cwd=ROOT, env={**os.environ, "PYTHONPATH": search}, capture_output=True, text=True, check=False
        )
    failed = next((line for line in run.stdout.splitlines() if line.startswith("FAILED")), "")
    print(f"{'killed  ' if run.returncode else 'SURVIVED'} {mutant.name:24} {failed[7:120]}", flush=True)
    return run.returncode != 0


if __name__ == "__main__":
    sys.exit(main())
