"""Fetch the library that lays out pictures: `python tools/vendor_dagre.py [--check]`.

It takes the release that `VERSION` names from the npm registry, by `npm pack`, and compares its checksum with the one
below. The one file that the page needs goes, with its licence, into `fuse_dialect/pictures/vendor`. `--check` compares
what is there with the checksum of the file, and fetches nothing.
"""

import argparse
import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PACKAGE, VERSION, LICENCE = "@dagrejs/dagre", "3.1.3", "MIT"
FILES = {"package/dist/dagre.min.js": "dagre.min.js", "package/LICENSE": "dagre.LICENSE"}
"""What is kept of the release, and how it is called here."""
SHA256 = {
    "release": "12441833c8af49e5a241d94bfd53159875965876b3f4f3214abafe1ed6a9ee4c",
    "dagre.min.js": "54a503e346f93ca0bb10abe7999587e037262935687aca45eb4e4b0f64bbb578",
    "dagre.LICENSE": "6a349742a6cb219d5a2fc8d0844f6d89a6efc62e20c664450d884fc7ff2d6015",
}
FOLDER = Path(__file__).resolve().parent.parent / "fuse_dialect" / "pictures" / "vendor"


def main() -> int:
    """Fetch or check; returns the exit code."""
    parser = argparse.ArgumentParser(description="Fetch the library that lays out pictures.")
    parser.add_argument("--check", action="store_true", help="compare the files that are there, and fetch nothing")
    if not parser.parse_args().check:
        fetch()
    wrong = [name for name in FILES.values() if digest((FOLDER / name).read_bytes()) != SHA256[name]]
    for name in wrong:
        print(f"error: {FOLDER / name} is not that of {PACKAGE} {VERSION}", file=sys.stderr)
    return 1 if wrong else 0


def fetch() -> None:
    """Take the files out of the release."""
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(
            ["npm", "pack", "--silent", f"{PACKAGE}@{VERSION}"], cwd=folder, check=True, capture_output=True, text=True
        )
        release = (Path(folder) / packed.stdout.strip().splitlines()[-1]).read_bytes()
    if digest(release) != SHA256["release"]:
        raise SystemExit(f"error: the release of {PACKAGE} {VERSION} has another checksum")
    FOLDER.mkdir(exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(release)) as archive:
        for inside, name in FILES.items():
            file = archive.extractfile(inside)
            assert file is not None, "the release has this file"
            (FOLDER / name).write_bytes(file.read())


def digest(data: bytes) -> str:
    """The checksum of some bytes."""
    return hashlib.sha256(data).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
