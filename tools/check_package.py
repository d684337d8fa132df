"""Build the sdist and the wheel, and try the wheel as somebody who has nothing else: with the extra `package`.

    python tools/check_package.py --constraint .ci/constraints.txt

1. `python -m build` makes an sdist of the working tree, and a wheel of the sdist.
2. twine reads, and is strict about, what an index would show.
3. The wheel has every file of `fuse_dialect/`, and nothing besides it and its metadata.
4. In a fresh virtual environment, and in a folder that is not the repository, the wheel is installed with the extra
   `native`, and the commands fuse, draw and run a program.

Exit code: 0 all is well, 1 otherwise. Installing asks an index for NumPy, xDSL and llvmlite.
"""

import argparse
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "fuse_dialect"
EXAMPLE = "diamond.mlir"
TRIALS: tuple[tuple[str, ...], ...] = (
    ("fuse-opt", "--fuse-ops", EXAMPLE),
    ("fuse-opt", "--fuse-ops", "-t", "html", EXAMPLE, "-o", "plan.html"),
    ("fuse-opt", "--fuse-ops=strategy=cost", EXAMPLE),
    ("fuse-run", "--backend", "llvm", "--random-inputs", "0", EXAMPLE),
    ("xdsl-opt", "-p", "fuse-ops", EXAMPLE),
    ("python", "-c", f"import {PACKAGE} as fd; print(fd.plan_fusion(fd.read('{EXAMPLE}')))"),
)
"""What a user does first, with what each needs: templates, assets of the page, machines, machine code, entry points."""


class CheckError(Exception):
    """What is wrong with the package, in a line or more."""


def files_of_package(root: Path) -> list[str]:
    """The files that a wheel must have, by their names in it: all of the package but what Python has compiled."""
    found = (path for path in (root / PACKAGE).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return sorted(path.relative_to(root).as_posix() for path in found)


def differences(expected: Sequence[str], found: Sequence[str]) -> list[str]:
    """What a wheel lacks of the package, and what it has besides the package and its metadata, a line each."""
    others = sorted(name for name in found if not name.split("/")[0].endswith(".dist-info"))
    missing = [f"the wheel lacks {name}" for name in expected if name not in set(others)]
    return [*missing, *(f"the wheel has {name}" for name in others if name not in set(expected))]


def run(command: Sequence[str | Path], folder: Path) -> str:
    """What a command prints.

    Raises:
        CheckError: It fails; the message has all that it has printed.
    """
    # What runs must be what was installed, and not what the caller's path offers.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise CheckError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(folder: Path) -> Path:
    """Make both archives in a folder, and have twine look at them; the wheel."""
    run((sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT), folder)
    archives = sorted(folder.iterdir())
    run((sys.executable, "-m", "twine", "check", "--strict", *archives), folder)
    (wheel,) = (path for path in archives if path.suffix == ".whl")
    print(f"built {', '.join(f'{path.name} ({path.stat().st_size / 1e6:.1f} MB)' for path in archives)}")
    return wheel


def try_wheel(wheel: Path, folder: Path, constraint: Path | None) -> None:
    """Install a wheel alone, and use it.

    Raises:
        CheckError: A command fails, prints nothing, or says another version than the wheel's.
    """
    venv.create(folder / "venv", with_pip=True, symlinks=True)
    scripts = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    pip = (scripts / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run((*pip, *(("--constraint", constraint) if constraint else ()), f"{wheel}[native]"), folder)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(ROOT / "docs" / "examples" / EXAMPLE, elsewhere)
    version = wheel.name.split("-")[1]
    said = run((scripts / "fuse-opt", "--version"), elsewhere)
    if version not in said:
        raise CheckError(f"fuse-opt --version says {said.strip()!r}, and the wheel is of version {version}")
    place = run((scripts / "python", "-I", "-c", f"import {PACKAGE}; print({PACKAGE}.__file__)"), elsewhere)
    if not Path(place.strip()).is_relative_to(folder):
        raise CheckError(f"the package that was imported is {place.strip()}")
    for name, *arguments in TRIALS:
        isolated = ("-I",) if name == "python" else ()
        if not run((scripts / name, *isolated, *arguments), elsewhere) and "-o" not in arguments:
            raise CheckError(f"{name} {' '.join(arguments)} prints nothing")


def main() -> int:
    """Check what the command line asks for; returns the exit code."""
    parser = argparse.ArgumentParser(description="Build the sdist and the wheel, and try the wheel.")
    parser.add_argument(
        "--constraint", type=Path, metavar="FILE", help="releases of what it depends on, as pip takes them"
    )
    options = parser.parse_args()
    start = perf_counter()
    try:
        with TemporaryDirectory() as name:
            folder = Path(name).resolve()
            (folder / "dist").mkdir()
            wheel = build(folder / "dist")
            if wrong := differences(files_of_package(ROOT), zipfile.ZipFile(wheel).namelist()):
                raise CheckError("\n".join(wrong))
            try_wheel(wheel, folder, options.constraint.resolve() if options.constraint else None)
    except CheckError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"the wheel holds what it must, and works alone ({perf_counter() - start:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
