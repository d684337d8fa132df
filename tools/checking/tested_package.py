"""Whether tests run the files of this tree, or those of another: a copy in the environment, or another clone."""

from filecmp import cmp
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]


def complaint(package: Path | None, tree: Path = TREE) -> str | None:
    """What is wrong with testing a package in place of the tree's; an installed copy with the same files is fine.

    Args:
        package: The folder of the package that the tests would run, or `None` where there is none.
        tree: The root of the tree that the tests belong to.

    Returns:
        A sentence that names the folder and the first file that differs, or `None`.
    """
    hint = f'pip install -e "{tree}[all]" in the environment of the tests makes them run this tree'
    if package is None:
        return f"fuse_dialect is not installed: {hint}"
    source = tree / "fuse_dialect"
    if package.resolve() == source:
        return None
    for path in sorted(source.rglob("*.py")):
        name = path.relative_to(source)
        if not (package / name).is_file() or not cmp(path, package / name, shallow=False):
            return f"these tests would run {package}, where {name} is not the file of this tree: {hint}"
    return None
