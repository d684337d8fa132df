"""Mutants of what keeps whole programs: `backends/stored`."""

from mutating.mutant import Mutant

_STORED = "backends/stored"

STORED_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "stored-own-files",
        f"{_STORED}/store.py",
        "return header[_OWN_FILES] == _digests(self.paths) and all(",
        "return all(",
    ),
    Mutant(
        "stored-other-files",
        f"{_STORED}/store.py",
        "digest_of_file(os.path.join(folder, path)).hex() == digest\n",
        "digest_of_file(os.path.join(folder, path)).hex() != ''\n",
    ),
    Mutant(
        "stored-while-changing",
        f"{_STORED}/store.py",
        "if files[_OTHER_FILES] is not None and self.is_unchanged():",
        "if files[_OTHER_FILES] is not None:",
    ),
    Mutant(
        "stored-additions",
        f"{_STORED}/store.py",
        "None if _has_additions() else image_of(program)",
        "image_of(program)",
    ),
    Mutant("stored-target", f"{_STORED}/store.py", "os.environ.get(TARGET_VARIABLE)]", "None]"),
    Mutant(
        "stored-environment",
        f"{_STORED}/store.py",
        'key_of("program", _FORMAT, environment(), asked,',
        'key_of("program", _FORMAT, asked,',
    ),
    Mutant(
        "stored-changed-model",
        f"{_STORED}/store.py",
        "return tuple(map(_state, self.paths)) == self.states",
        "return True",
    ),
    Mutant("key-of-times", f"{_STORED}/key.py", "{status.st_size} {status.st_mtime_ns}", "{status.st_size}"),
    Mutant("key-of-flags", f"{_STORED}/key.py", '"stepping", "flags")', '"stepping")'),
    Mutant(
        "image-words-outside",
        f"{_STORED}/image.py",
        "    _check_inside(np.concatenate(places), len(words))\n",
        "",
    ),
    Mutant(
        "image-constants-outside",
        f"{_STORED}/image.py",
        "    _check_inside(in_constants[:, 1], len(parts[_CONSTANTS]) + 1)\n",
        "",
    ),
    Mutant(
        "image-functions-outside",
        f"{_STORED}/image.py",
        "    _check_inside(rows[:, 0] - NOWHERE, len(parts[_CODE]) - NOWHERE)\n",
        "",
    ),
    Mutant("image-parts-outside", f"{_STORED}/image.py", "if start + size > len(payload):", "if start > len(payload):"),
    Mutant(
        "code-stays-writable",
        f"{_STORED}/machine_code.py",
        "mmap.PROT_READ | mmap.PROT_EXEC)",
        "mmap.PROT_READ | mmap.PROT_EXEC | mmap.PROT_WRITE)",
    ),
    Mutant(
        "linked-writable-data",
        f"{_STORED}/linking.py",
        "if flags & _WRITABLE or kind == _NO_BITS:",
        "if kind == _NO_BITS:",
    ),
)
