"""Runs `fuse-ops` on the MLIR files of folders, piece by piece, and says what fuses, what does not, what goes wrong.

    python tools/run_corpora.py FOLDER... [--jobs 2] [--seconds 20] [--list] [--groups 40]

A folder is a checkout of any project with MLIR files; pieces of a file are split at `// -----`. A piece is read, or it
is refused, which is counted by reason. What was read is fused, printed, read again, fused again and put back; a piece
where that loses an op, reorders effects, changes something the second time or ends in an internal error is *flagged*.
What xDSL prints of an op of its own and then cannot read, without this package, is counted apart.

A piece can only fuse if it has two ops of known kind, one of which reads what the other gives: others are counted
apart. Where nothing fuses although there is such a pair, the reasons are counted by code, op and target.

Exit code: 1 if a piece is flagged.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from checking.cluster import add_cluster, in_order
from corpora.judging import verdicts_of
from corpora.pieces import Group, Verdict, files_of

_PECULIAR = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|@[\w.$-]+|%\w+|tensor<\S*|-?\d+")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the folders; 1 if a piece is flagged."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="a folder, or a file")
    add_cluster(parser)
    parser.add_argument("--seconds", type=float, default=20.0, help="most for a piece (default: %(default)s)")
    parser.add_argument("--groups", type=int, default=40, help="groups of reasons to print (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="print every reason and every refused piece with its place")
    options = parser.parse_args(arguments)
    files = files_of(options.folders)
    if not files:
        print(f"no .mlir file in {', '.join(map(str, options.folders))}", file=sys.stderr)
        return 1
    found = in_order(options.cluster, partial(verdicts_of, seconds=options.seconds), files)
    verdicts = [verdict for each in found for verdict in each]
    lines = (
        *summary(verdicts),
        *folder_rows(options.folders, verdicts),
        *reasons(verdicts, options.groups),
        *causes(verdicts, options.groups),
    )
    for line in lines:
        print(line)
    for line in listing(verdicts) if options.list else ():
        print(line)
    flagged = [verdict for verdict in verdicts if verdict.flags]
    for verdict in flagged:
        for flag, detail in verdict.flags:
            print(f"{flag}: {verdict.place}: {detail}")
    return int(bool(flagged))


def summary(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """The counts, a line each."""
    read = [each for each in verdicts if not each.refused]
    several = [each for each in read if each.operators > 1]
    paired = [each for each in several if each.pairs]
    fused = [each for each in several if each.fused]
    yield f"pieces: {len(verdicts)}, read {len(read)}, refused {len(verdicts) - len(read)}"
    yield f"flagged: {sum(bool(each.flags) for each in verdicts)}"
    yield f"printed by xDSL so that xDSL cannot read it: {sum(each.is_unprintable for each in verdicts)}"
    yield f"with two ops of known kind: {len(several)}, of which {len(fused)} fuse ({_share(fused, several)})"
    yield f"  one of which reads the other: {len(paired)}, of which {len(fused)} fuse ({_share(fused, paired)})"
    yield f"  none of which reads another, so that nothing can fuse: {len(several) - len(paired)}"


def folder_rows(folders: Sequence[Path], verdicts: Sequence[Verdict]) -> Iterator[str]:
    """The counts of each folder, a row each; none where there is one folder alone."""
    if len(folders) < 2:
        return
    yield "folder: pieces, read, with two ops, of which fuse, one of which reads the other, of which fuse"
    for folder in folders:
        own = [each for each in verdicts if each.file.is_relative_to(folder)]
        several = [each for each in own if each.operators > 1]
        paired = [each for each in several if each.pairs]
        fused = [each for each in several if each.fused]
        read = sum(not each.refused for each in own)
        shares = f"{len(several)} {_share(fused, several)}, {len(paired)} {_share(fused, paired)}"
        yield f"  {folder.name}: {len(own)}, {read}, {shares}"


def _share(part: Sequence[Verdict], whole: Sequence[Verdict]) -> str:
    return f"{100 * len(part) / len(whole):.1f} %" if whole else "none"


def reasons(verdicts: Iterable[Verdict], most: int) -> Iterator[str]:
    """Why nothing fuses in pieces where something could, the most frequent first, in pieces and in ops."""
    groups: Counter[Group] = Counter()
    pieces: Counter[Group] = Counter()
    for verdict in _not_fused(verdicts):
        own = Counter(refusal.group for refusal in verdict.refusals)
        groups += own
        pieces.update(own.keys())
    yield "reasons where a piece has such ops and nothing fuses: pieces, ops, reason, op, into"
    for group, count in sorted(pieces.items(), key=lambda item: (-item[1], item[0]))[:most]:
        yield f"{count:5} {groups[group]:5} {' '.join(group)}"


def causes(verdicts: Iterable[Verdict], most: int) -> Iterator[str]:
    """Why pieces are refused, without what is peculiar to one of them."""
    found = Counter(_PECULIAR.sub("..", verdict.refused) for verdict in verdicts if verdict.refused)
    yield "refused: pieces, cause"
    for cause, count in found.most_common(most):
        yield f"{count:5} {cause}"


def listing(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Every reason and every refused piece, with its place."""
    for verdict in _not_fused(verdicts):
        for refusal in verdict.refusals:
            yield f"not fused: {refusal.place}: {' '.join(refusal.group)}"
    for verdict in verdicts:
        if verdict.refused:
            yield f"refused: {verdict.place}: {verdict.refused}"


def _not_fused(verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    return (verdict for verdict in verdicts if verdict.pairs and not verdict.fused)


if __name__ == "__main__":
    sys.exit(main())
