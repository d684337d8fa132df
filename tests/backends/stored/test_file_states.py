"""Programs from the cache while their files change: a program never answers with what a file never held.

The model here is of files alone: a file holds a version, which is a number, and a program computes
`1000 * (500 + second) + first` of the versions of its two files, element by element. What a file held at some time
between the start of `compile` and the end of the call may be answered, and nothing else. The model knows nothing of
keys, digests and states. Changes happen between calls, and in them: right before any file is opened, mapped or renamed,
in whichever thread, which an audit hook of Python hears of.

In a call no file is cut short or removed: a mapped file must not shrink.
"""

import itertools
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

import fuse_dialect as fd
from fuse_dialect.backends.stored import files
from fuse_dialect.backends.stored.machine_code import is_supported
from fuse_dialect.backends.stored.program import StoredProgram
from fuse_dialect.backends.stored.store import wait_for_writers

pytest.importorskip("llvmlite")
pytest.importorskip("onnx")
pytest.importorskip("safetensors")
pytestmark = pytest.mark.skipif(not is_supported(), reason="programs are stored on Linux, x86-64")

COUNT = 1 << 14
"""Elements of a weight: as many as are left in their file."""
TYPE = f"tensor<{COUNT}xf32>"
VERSIONS = range(1, 8)
OF_SECOND = 500
"""The elements of the second file are by so much greater: constants with the same elements are one."""
DECOY = 900


def _filled(value: int) -> bytes:
    return np.full(COUNT, value, np.float32).tobytes()


def _data(version: int) -> bytes:
    return _filled(OF_SECOND + version)


def _model(version: int, count: int = COUNT) -> bytes:
    """An ONNX model, `x * w + version`, with `w` in another file; with few elements it is read as a whole."""
    from onnx import TensorProto, helper

    kept = helper.make_tensor("b", TensorProto.FLOAT, [count], _filled(version)[: 4 * count], raw=True)
    outside = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[COUNT], data_location=TensorProto.EXTERNAL)
    outside.external_data.add(key="location", value="w.bin")
    nodes = [helper.make_node("Mul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["y"])]
    forms = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [COUNT]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "g", forms[:1], forms[1:], [kept, outside])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def _text(version: int) -> bytes:
    """The same as text, with `w` in a weights file."""
    return f"""
func.func @main(%x: {TYPE}) -> {TYPE} {{
  %w = arith.constant dense_resource<w> : {TYPE}
  %b = arith.constant dense<{version}.0> : {TYPE}
  %p = fuse.multiply %x, %w : {TYPE}
  %y = fuse.add %p, %b : {TYPE}
  return %y : {TYPE}
}}
""".encode()


def _weights(version: int, *, is_first: bool) -> bytes:
    """A safetensors file in which `w` comes first or last."""
    names = ["w", "decoy"] if is_first else ["decoy", "w"]
    size = 4 * COUNT
    places = {name: [size * at, size * at + size] for at, name in enumerate(names)}
    head = json.dumps(
        {name: {"dtype": "F32", "shape": [COUNT], "data_offsets": places[name]} for name in sorted(names)}
    ).encode()
    head += b" " * (-len(head) % 8)
    values = {"w": OF_SECOND + version, "decoy": DECOY}
    return len(head).to_bytes(8, "little") + head + b"".join(_filled(values[name]) for name in names)


WEIGHTS = "w.safetensors"
CONTENTS: Mapping[str, Callable[[int], bytes]] = {
    "m.onnx": _model,
    "s.onnx": partial(_model, count=1),
    "w.bin": _data,
    "t.mlir": _text,
    "w.safetensors": partial(_weights, is_first=True),
    "w.safetensors, w last": partial(_weights, is_first=False),
}
PROGRAMS: Mapping[str, tuple[str, str]] = {
    "onnx": ("m.onnx", "w.bin"),
    "small": ("s.onnx", "w.bin"),
    "text": ("t.mlir", "w.safetensors"),
}
EACH = [("onnx", "m.onnx"), ("onnx", "w.bin"), ("small", "s.onnx"), ("text", "t.mlir"), ("text", WEIGHTS)]
NAMES = tuple(name for _, name in EACH)


def _results(first: set[int], second: set[int]) -> set[int]:
    return {1000 * (OF_SECOND + b) + a for a, b in itertools.product(first, second)}


@cache
def content(name: str, version: int) -> bytes:
    """The bytes of a file in a version."""
    return CONTENTS[name](version)


@dataclass
class Folder:
    """The files, what each holds, and what it has held since somebody asked."""

    path: Path
    held: dict[str, set[int]] = field(default_factory=dict)
    """Versions by file since `begin`."""
    now: dict[str, int | None] = field(default_factory=dict)
    """The version by file; `None` for one that cannot be read."""
    is_first: bool = True
    """The order of tensors in the weights file: what is written in place keeps it."""
    changes: int = 0

    def begin(self) -> None:
        """Forget what files held before."""
        self.held = {name: set() if version is None else {version} for name, version in self.now.items()}

    def change(self, name: str, how: str, version: int) -> None:
        """Give a file another version in one of the ways that there are."""
        self.changes += 1
        if name == WEIGHTS and how in ("replaced", "linked"):
            self.is_first = not self.is_first
        form = name if name != WEIGHTS or self.is_first else f"{name}, w last"
        path, data = self.path / name, content(form, version)
        if how in ("in place", "in place, times kept"):
            before = os.stat(path)
            # One call, so that nobody sees a part of it.
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
            os.pwrite(descriptor, data, 0)
            os.close(descriptor)
            if how == "in place, times kept":
                os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        elif how in ("replaced", "linked"):
            # A link may lead back to the same file.
            aside = self.path / (f"aside{self.changes}" if how == "replaced" else f"{form}.{version}")
            # What was written in place through a link lies in the file that the link led to.
            if not aside.exists() or aside.read_bytes() != data:
                fresh = self.path / f"fresh{self.changes}"
                fresh.write_bytes(data)
                os.replace(fresh, aside)
            if how == "linked":
                link = self.path / f"link{self.changes}"
                link.symlink_to(aside.name)
                aside = link
            os.replace(aside, path)
        elif how == "cut":
            os.truncate(path, len(data) // 2)
        else:
            path.unlink()
        self.now[name] = None if how in ("cut", "removed") else version
        if self.now[name] is not None:
            self.held.setdefault(name, set()).add(version)


LASTING = ("in place", "in place, times kept", "replaced", "linked")
"""Ways to change a file that somebody has mapped."""


class Moments:
    """The places in a call where files are opened, mapped or renamed, numbered from 0."""

    def __init__(self, folder: Path, act: Callable[[int], None]):
        self.count = 0
        self._folder = str(folder)
        self._act = act
        self._is_acting = False

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Act, if an event of Python is such a place."""
        if self._is_acting or event not in ("open", "mmap.__new__", "os.rename"):
            return
        if event != "mmap.__new__" and not str(arguments[0]).startswith(self._folder):
            return
        self._is_acting = True
        try:
            self._act(self.count)
        finally:
            self.count += 1
            self._is_acting = False


_listening: list[Moments] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    for moments in _listening:
        moments.hear(event, arguments)


@contextmanager
def moments(folder: Path, act: Callable[[int], None]) -> Generator[Moments]:
    """Tell `act` of each place that is reached meanwhile."""
    if not _hooked:
        sys.addaudithook(_hook)  # stays, and hears nothing without listeners
        _hooked.append(True)
    heard = Moments(folder, act)
    _listening.append(heard)
    try:
        yield heard
    finally:
        _listening.remove(heard)


_hooked: list[bool] = []
Changes = Mapping[int, tuple[str, str, int]]
"""By moment: a file, a way, a version."""


class Trial:
    """Files of both programs in a folder of their own, with a cache of their own."""

    def __init__(self) -> None:
        self._temporary = tempfile.TemporaryDirectory()
        self.files = Folder(Path(self._temporary.name))
        for name in NAMES:
            self.files.change(name, "replaced", 1)
        self._patch = pytest.MonkeyPatch()
        self._patch.setenv("FUSE_CACHE_DIR", str(self.files.path / "cache"))
        self.met: Counter[str] = Counter()

    def close(self) -> None:
        """Remove the files."""
        self._patch.undo()
        self._temporary.cleanup()

    def compile(self, program: str, changes: Changes = {}) -> tuple[fd.Program | None, int]:  # noqa: B006
        """Compile and call; what comes out must be of versions that the files have held meanwhile.

        Returns:
            The program, and how many moments there were.
        """
        first, second = PROGRAMS[program]
        self.files.begin()
        had_both = all(self.files.now[name] is not None for name in (first, second))

        def act(moment: int) -> None:
            if moment in changes:
                self.met["changed"] += 1
                self.files.change(*changes[moment])

        weights = self.files.path / second if program == "text" else None
        with moments(self.files.path, act) as heard:
            try:
                made = fd.compile(self.files.path / first, weights=weights)
            except fd.FuseError:
                # A file of two parts may be read as it is replaced; what was whole all the time is read.
                assert changes or not had_both
                wait_for_writers()
                return None, heard.count
            wait_for_writers()
            (result,) = made(np.ones(COUNT, np.float32) * 1000)
        self.met["hit" if isinstance(made, StoredProgram) else "miss"] += 1
        self.check(program, result)
        return made, heard.count

    def check(self, program: str, result: np.ndarray) -> None:
        """Compare with what the files have held."""
        first, second = (self.files.held[name] for name in PROGRAMS[program])
        expected = _results(first, second)
        assert set(np.unique(result).tolist()) <= expected, f"{np.unique(result)} is not of {first} and {second}"

    def look(self, made: StoredProgram, changes: Changes) -> int:
        """What is compiled once more for its IR computes what came from the cache, or there is none."""
        (before,) = made(np.ones(COUNT, np.float32) * 1000)
        held = {"first": {before[0] % 1000}, "second": {before[0] // 1000 - OF_SECOND}}

        def act(moment: int) -> None:
            if moment in changes:
                name, how, version = changes[moment]
                self.files.change(name, how, version)
                # A program that reads its weights where they lie sees what is written there, whoever compiled it.
                if how.startswith("in place"):
                    held["first" if name in (first for first, _ in PROGRAMS.values()) else "second"].add(version)

        with moments(self.files.path, act) as heard:
            try:
                whole = made.whole
            except fd.FuseError:
                self.met["changed since"] += 1
                return heard.count
        self.met["looked"] += 1
        (after,) = whole(np.ones(COUNT, np.float32) * 1000)
        expected = _results(held["first"], held["second"])
        assert set(np.unique(after).tolist()) <= expected, f"{np.unique(before)} has the IR of {np.unique(after)}"
        return heard.count


_version = st.sampled_from(VERSIONS)
_program = st.sampled_from(sorted(PROGRAMS))
_lasting = st.tuples(st.sampled_from(NAMES), st.sampled_from(LASTING), _version)
_changes = st.dictionaries(st.integers(0, 40), _lasting, max_size=3)


class FileStates(RuleBasedStateMachine):
    """Calls and changes in any order."""

    met: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.trial = Trial()
        self.kept: StoredProgram | None = None

    def teardown(self) -> None:
        """Remove the files, and say what was met."""
        FileStates.met += self.trial.met
        self.trial.close()

    @rule(name=st.sampled_from(NAMES), how=st.sampled_from([*LASTING, "cut", "removed"]), version=_version)
    def change(self, name: str, how: str, version: int) -> None:
        """Change a file between calls."""
        if (self.trial.files.path / name).exists() or how in ("replaced", "linked"):
            # What runs may still read its file: an end that comes nearer would end the process.
            if how == "cut":
                self.kept = None
            self.trial.files.change(name, how, version)

    @rule(program=_program, changes=_changes)
    def compile(self, program: str, changes: dict[int, tuple[str, str, int]]) -> None:
        """Compile and call, with changes meanwhile."""
        made, _ = self.trial.compile(program, self._of_whole(changes))
        if isinstance(made, StoredProgram):
            self.kept = made

    @rule(program=_program)
    def compile_again(self, program: str) -> None:
        """Compile and call while nothing changes."""
        self.compile(program, {})

    @precondition(lambda self: self.kept is not None)
    @rule(before=st.none() | _lasting, changes=_changes)
    def look(self, before: tuple[str, str, int] | None, changes: dict[int, tuple[str, str, int]]) -> None:
        """Ask a program that came from the cache for its IR, maybe after a change."""
        assert self.kept is not None
        for change in self._of_whole({} if before is None else {0: before}).values():
            self.trial.files.change(*change)
        self.trial.look(self.kept, self._of_whole(changes))
        # It is compiled once, and reads from then on what its files hold.
        self.kept = None

    def _of_whole(self, changes: Changes) -> Changes:
        """Without those of files that cannot be read: to write into them means to write a whole one."""
        return {at: each for at, each in changes.items() if self.trial.files.now[each[0]] is not None}


def test_what_is_written_through_a_link_is_not_taken_for_what_it_led_to() -> None:
    state = FileStates()
    try:
        state.compile(changes={0: ("t.mlir", "linked", 2)}, program="text")
        state.compile(changes={0: ("t.mlir", "in place", 1)}, program="text")
        state.compile(changes={0: ("t.mlir", "linked", 2)}, program="text")
        state.compile(changes={}, program="text")
    finally:
        state.teardown()


def test_programs_are_of_what_their_files_held() -> None:
    FileStates.met.clear()
    run_state_machine_as_test(FileStates, settings=settings(max_examples=50, stateful_step_count=12))
    # Not for nothing: all of it has happened. That a change stops `look` is rarer, and has a test of its own.
    assert {"hit", "miss", "changed", "looked"} <= {name for name, count in FileStates.met.items() if count}


@pytest.mark.parametrize(("program", "name"), EACH)
def test_a_program_from_the_cache_has_no_ir_once_its_file_has_changed(program: str, name: str) -> None:
    trial = Trial()
    try:
        trial.compile(program)
        made, _ = trial.compile(program)
        assert isinstance(made, StoredProgram)
        trial.files.change(name, "replaced", 2)
        trial.look(made, {})
        assert trial.met["changed since"] == 1
    finally:
        trial.close()


@pytest.mark.slow
@pytest.mark.parametrize("step", [0, files._CLOCK_STEP])
@pytest.mark.parametrize("how", LASTING)
@pytest.mark.parametrize(("program", "name"), EACH)
def test_a_change_at_any_moment_is_noticed(
    program: str, name: str, how: str, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_CLOCK_STEP", step)
    trial = Trial()
    try:
        for moment in itertools.count():
            before, after = 2 * moment + 1, 2 * moment + 2
            trial.files.change(name, "linked" if how == "linked" else "replaced", before)
            if not step:
                time.sleep(0.02)  # the clock has moved, whatever the system
            changes = {moment: (name, how, after)}
            if how == "linked":
                changes[moment + 1] = (name, how, before)  # and back, as if nothing had been
            _, count = trial.compile(program, changes)
            # What was kept under either content must be of it.
            for version in (after, before):
                if trial.files.now[name] != version:
                    trial.files.change(name, "in place" if how != "linked" else how, version)
                trial.compile(program)
            trial.compile(program)
            if moment >= count:
                break
    finally:
        trial.close()
    assert moment > 5
    assert trial.met["hit"] > moment / 2


@pytest.mark.parametrize(("program", "name"), EACH)
def test_a_change_while_a_program_is_made_whole_is_noticed(program: str, name: str) -> None:
    trial = Trial()
    try:
        for moment in itertools.count():
            trial.compile(program)
            made, _ = trial.compile(program)
            assert isinstance(made, StoredProgram)
            if moment >= trial.look(made, {moment: (name, "replaced", moment + 2)}):
                break
    finally:
        trial.close()
    assert trial.met["changed since"] > 2


@pytest.mark.parametrize(("program", "name"), EACH)
def test_a_link_that_leads_elsewhere_is_another_file(program: str, name: str) -> None:
    trial = Trial()
    try:
        for version in (2, 3, 2):
            trial.files.change(name, "linked", version)
            trial.compile(program)
            trial.compile(program)
    finally:
        trial.close()
    assert trial.met["hit"] >= 3
