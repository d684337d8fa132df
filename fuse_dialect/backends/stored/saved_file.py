"""A saved program: a container with a manifest, the IR, the constants and, for one processor, machine code.

`docs/reference/saved-file.md` describes every member. The cache of whole programs holds such files, too.

1. The manifest is JSON. It lists the other members with their bytes and hashes; a member that it does not list is not
   looked at. Hashes are compared before anything of a member is used. They find damage, and prove nothing.
2. Machine code runs only if this user's key on this machine has signed the manifest, and for the same environment
   (`key.environment`). The signature is the last member. Who cannot write to the cache folder cannot make one.
3. Everything else is data that is checked like any input, whoever has made it.
4. A file is mapped. Its constants stay where they are, so that processes have them in common. If it is cut short, that
   is an error (`mapped_guard`).
"""

import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from fuse_dialect.backends.runtime.hashing import PieceDigest, digest_of
from fuse_dialect.backends.stored.archive import ALIGNMENT, ArchiveError, read_archive, write_archive
from fuse_dialect.backends.stored.mapped_guard import WatchedMap
from fuse_dialect.backends.stored.suffix import SUFFIX as SUFFIX
from fuse_dialect.backends.stored.trust import Signer, is_seen, note_seen
from fuse_dialect.diagnostics import FuseError, SourceLocation

if TYPE_CHECKING:
    from fuse_dialect.backends.stored.image import Image

FORMAT, VERSION = "fuse", 1
MANIFEST, PROGRAM, FUSED, CONSTANTS, CODE, CODE_HEADER, SIGNATURE = (
    "manifest.json",
    "program.mlir",
    "fused.mlir",
    "constants.safetensors",
    "code/image.bin",
    "code/image.json",
    "signature.json",
)
_MOST_MANIFEST = 1 << 24
_MOST_HEADER = 1 << 26
"""Bytes of JSON that are read."""
_HINT = "save the program again, or compile its model"


def code_member(name: str, target_cpu: str) -> str:
    """The name of a member with code for a processor; empty for that of the program: `code/haswell/image.bin`."""
    return name.replace("/", f"/{target_cpu}/") if target_cpu else name


@dataclass(frozen=True, slots=True)
class Draft:
    """What a program is saved as."""

    manifest: Mapping[str, Any]
    """Without the list of members."""
    members: "Sequence[tuple[str, Sequence[bytes | memoryview]]]"
    """All but the manifest and the signature."""


def size_of(draft: Draft) -> int:
    """Bytes of all members."""
    return sum(memoryview(piece).nbytes for _, pieces in draft.members for piece in pieces)


def write_saved(
    stream: BinaryIO,
    draft: Draft,
    signer: "Signer | None",
    *,
    alone: bool = False,
) -> str:
    """Write a saved program.

    Args:
        stream: An empty file, open for writing.
        draft: What to write.
        signer: Signs the machine code; without it the file has none.
        alone: Use no other thread: none can be started while Python ends.

    Returns:
        The digest of its manifest, see `SavedFile.digest`.

    Raises:
        OSError: The file cannot be written.
    """
    kept = [(name, pieces) for name, pieces in draft.members if signer is not None or not name.startswith("code/")]
    if alone:
        return _write(stream, draft, kept, signer, _digest)
    # Threads are wanted by who writes large files, not by who loads one.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1, "fuse-hash") as pool:
        # Hashing goes beside writing: both take as long for large constants.
        found = {id(pieces): pool.submit(_digest, pieces) for _, pieces in kept}
        return _write(stream, draft, kept, signer, lambda pieces: found[id(pieces)].result())


def _write(
    stream: BinaryIO,
    draft: Draft,
    kept: "Sequence[tuple[str, Sequence[bytes | memoryview]]]",
    signer: "Signer | None",
    digest: "Callable[[Sequence[bytes | memoryview]], tuple[int, str]]",
) -> str:
    manifests: list[bytes] = []

    def members() -> "Iterator[tuple[str, Sequence[bytes | memoryview]]]":
        yield from kept
        found = ((name, digest(pieces)) for name, pieces in kept)
        parts = {name: {"bytes": size, "sha256": text} for name, (size, text) in found}
        manifest = _json({**draft.manifest, "format": FORMAT, "version": VERSION, "members": parts})
        manifests.append(manifest)
        yield MANIFEST, [manifest]
        if signer is not None:
            yield SIGNATURE, [_json(signer.sign(manifest))]

    write_archive(stream, members())
    return sha256(manifests[0]).hexdigest()


def _digest(pieces: "Sequence[bytes | memoryview]") -> tuple[int, str]:
    digest = PieceDigest()
    for piece in pieces:
        digest.update(memoryview(piece))
    return sum(memoryview(piece).nbytes for piece in pieces), digest.digest().hex()


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, indent=1).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class SavedFile:
    """A saved program that was opened; what it says has been compared with its hashes."""

    path: str
    """Where it is, or a name for errors."""
    data: memoryview
    """All of it."""
    members: Mapping[str, memoryview]
    manifest: Mapping[str, Any]
    digest: str
    """Of the manifest, which has the hashes of everything else."""
    is_in_file: bool
    """Whether it is mapped from `path`, and not bytes that somebody has given."""
    status: "os.stat_result | None" = None
    mapping: WatchedMap | None = None

    def check_whole(self) -> None:
        """Look whether all that was read until now was in the file: condition 4.

        Raises:
            FuseError: The file has been cut short.
        """
        if self.mapping is not None and not self.mapping.is_whole:
            hint = "replace files by others of their names, and do not write into them; load the program again"
            raise self.error("the saved program has been cut short while it was in use", hint=hint)

    def error(self, message: str, *, hint: str | None = _HINT) -> FuseError:
        """An error about this file."""
        return FuseError(message, SourceLocation(self.path), hint=hint)

    def text(self, name: str) -> str:
        """The text of a member.

        Raises:
            FuseError: There is none, or it is no UTF-8.
        """
        member = self.members.get(name)
        try:
            if member is not None:
                return bytes(member).decode()
        except UnicodeDecodeError:
            pass
        raise self.error(f"the saved program has no '{name}'")

    def image(self, environment: str, *, trust: bool = False, target_cpu: str = "") -> "Image | None":
        """The program as machine code, if it was made here: condition 2.

        Args:
            environment: What the code must have been made in.
            trust: Whether the user says that the code may run, whoever has made it.
            target_cpu: The processor that the code is for, if it is not that of the program.
        """
        names = code_member(CODE_HEADER, target_cpu), code_member(CODE, target_cpu), CONSTANTS
        header, payload, constants = (self.members.get(name) for name in names)
        if header is None or payload is None or constants is None or len(header) > _MOST_HEADER:
            return None
        if not trust and not self.is_signed(environment):
            return None
        from fuse_dialect.backends.stored.image import decoded

        found = _object(header)
        return None if found is None else decoded(found, payload, tensors_in(constants))

    def is_signed(self, environment: str) -> bool:
        """Whether this user has made the file on this machine, in an environment: condition 2."""
        signature, signer = self.members.get(SIGNATURE), Signer.existing(environment)
        if signature is None or signer is None or len(signature) > 1 << 12:
            return False
        said = _object(signature)
        return said is not None and signer.has_signed(bytes(self.members[MANIFEST]), said)


def open_saved(path: str) -> SavedFile:
    """The saved program in a file, which is mapped.

    Raises:
        FuseError: The file cannot be read, is no saved program, is damaged, or of a version that is not known.
    """
    try:
        flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(path, flags)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or not status.st_size:
                reason = "the file is empty" if stat.S_ISREG(status.st_mode) else "it is no regular file"
                raise FuseError(f"cannot read the saved program: {reason}", SourceLocation(path))
            mapping = WatchedMap(descriptor, status.st_size)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FuseError(f"cannot read the saved program: {reason.lower()}", SourceLocation(path)) from error
    return _opened(path, mapping.data, status, mapping)


def saved_in(data: "bytes | memoryview", name: str = "<bytes>") -> SavedFile:
    """The saved program that some bytes are.

    Raises:
        FuseError: As for `open_saved`.
    """
    import numpy as np

    from fuse_dialect.backends.runtime.arrays import aligned_bytes

    # Constants are read where they are, at the places that a file would have them at.
    copy: Any = aligned_bytes(len(data), ALIGNMENT)
    np.copyto(copy, np.frombuffer(data, np.uint8))
    return _opened(name, memoryview(copy).toreadonly(), None)


def _opened(
    path: str, data: memoryview, status: "os.stat_result | None", mapping: WatchedMap | None = None
) -> SavedFile:
    try:
        members = read_archive(data)
    except ArchiveError as error:
        raise FuseError(f"cannot read the saved program: {error}", SourceLocation(path), hint=_HINT) from error
    found = members.get(MANIFEST)
    manifest = None if found is None or len(found) > _MOST_MANIFEST else _object(found)
    if found is None or manifest is None or manifest.get("format") != FORMAT:
        raise FuseError("cannot read the saved program: it has no manifest of one", SourceLocation(path), hint=_HINT)
    version = manifest.get("version")
    if version.__class__ is not int or version != VERSION:
        shown = version if version.__class__ is int else "unknown"
        hint = f"this package reads version {VERSION}: " + (
            "install a later one" if version.__class__ is int and cast(int, version) > VERSION else _HINT
        )
        raise FuseError(f"the saved program has version {shown} of the format", SourceLocation(path), hint=hint)
    digest = sha256(found).hexdigest()
    saved = SavedFile(path, data, members, manifest, digest, status is not None, status, mapping)
    _check_members(saved)
    saved.check_whole()
    return saved


def _check_members(saved: SavedFile) -> None:
    """Compare members with what the manifest says of them: condition 1.

    Raises:
        FuseError: One is missing, or differs.
    """
    listed = saved.manifest.get("members")
    listed = cast("dict[str, Any]", listed) if isinstance(listed, dict) else {}
    is_seen_whole = saved.status is not None and is_seen(saved.status, saved.digest)
    for name in sorted({*saved.members} - {MANIFEST, SIGNATURE}):
        said, member = listed.get(name), saved.members[name]
        if not isinstance(said, dict) or cast("dict[str, Any]", said).get("bytes") != len(member):
            raise saved.error(f"the saved program is damaged: '{name}' is not what its manifest lists")
        # Code is hashed each time: it is short, and runs.
        if is_seen_whole and name == CONSTANTS:
            continue
        if cast("dict[str, Any]", said).get("sha256") != digest_of(member).hex():
            raise saved.error(f"the saved program is damaged: '{name}' does not have the hash that its manifest lists")
    if missing := next((name for name in listed if name not in saved.members), None):
        raise saved.error(f"the saved program is damaged: '{missing[:40]}' is missing")
    if saved.status is not None and not is_seen_whole:
        note_seen(saved.status, saved.digest)


def _object(data: memoryview) -> "dict[str, Any] | None":
    """The object that JSON text says; `None` for anything else."""
    try:
        found = json.loads(bytes(data))
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def tensors_in(member: memoryview) -> memoryview:
    """The bytes of all tensors of a member in the format of safetensors, without its head."""
    return member[min(8 + int.from_bytes(member[:8], "little"), len(member)) :]
