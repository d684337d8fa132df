"""Mutants of what keeps whole programs: `backends/stored`."""

from mutating.mutant import Mutant

_STORED = "backends/stored"

STORED_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "stored-own-files",
        f"{_STORED}/store.py",
        "pairs = [*zip(self.paths, own, strict=True), *(",
        "pairs = [*(",
    ),
    Mutant(
        "stored-other-files",
        f"{_STORED}/store.py",
        "*((os.path.join(folder, path), each) for path, each in others)]",
        "]",
    ),
    Mutant("stored-while-written", f"{_STORED}/store.py", "payload, read.are_unchanged)", "payload)"),
    Mutant(
        "stored-digest-taken-late",
        f"{_STORED}/files.py",
        "        _compare(descriptor, state)\n        # No other thread",
        "        # No other thread",
    ),
    Mutant(
        "stored-guard-dropped",
        f"{_STORED}/files.py",
        "if state is None or _identity(descriptor) != state.identity:",
        "if state is None:",
    ),
    Mutant("stored-opened-twice", f"{_STORED}/files.py", "self._states[name] = None", "pass"),
    Mutant(
        "stored-step-of-the-clock", f"{_STORED}/files.py", "max(identity[3:]) < _CLOCK_STEP", "max(identity[3:]) < 0"
    ),
    Mutant(
        "stored-only-bytes-move", f"{_STORED}/files.py", "status.st_mtime_ns, status.st_ctime_ns", "status.st_mtime_ns"
    ),
    Mutant(
        "stored-links-followed",
        "frontends/onnx/tensors.py",
        "map_file(path, named=folder / _location(tensor))",
        "map_file(path)",
    ),
    Mutant("stored-links-folded", f"{_STORED}/files.py", "str(Path(path).absolute())", "os.path.abspath(path)"),
    Mutant(
        "stored-head-of-another-file",
        "frontends/mlir/weights_file.py",
        'if (said.get("dtype"), said.get("shape"), said.get("data_offsets")) != wanted:',
        "if False:",
    ),
    Mutant(
        "stored-made-whole-before",
        f"{_STORED}/store.py",
        "if changed is None:\n            with noting_files",
        "if True:\n            with noting_files",
    ),
    Mutant(
        "stored-made-whole-after",
        f"{_STORED}/store.py",
        "if self._digests(read) == digests:",
        "if self._digests(read):",
    ),
    Mutant(
        "stored-additions",
        f"{_STORED}/store.py",
        "None if _has_additions() else image_of(program)",
        "image_of(program)",
    ),
    Mutant("stored-target", f"{_STORED}/store.py", "lower(), described]", "lower()]"),
    Mutant(
        "stored-environment",
        f"{_STORED}/store.py",
        'key_of("program", _FORMAT, environment(), asked,',
        'key_of("program", _FORMAT, asked,',
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
