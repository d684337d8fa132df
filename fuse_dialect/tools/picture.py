"""What `-t html`, other pictures and `--view` draw: the plan of the last pass that fuses. Imported when asked for."""

import json
from argparse import Namespace
from collections.abc import Sequence
from os.path import basename, splitext
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.target import Target

from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.frontends.mlir.source_map import SourceMap
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.hardware.fuse_ops_hw import FuseOpsHwPass
from fuse_dialect.loading.output_file import is_stdout, write_output
from fuse_dialect.pictures.report import REPORTS
from fuse_dialect.pictures.scene import SceneOptions, scene_of
from fuse_dialect.targets.pictures import PictureTarget
from fuse_dialect.tools.arguments import UsageParser
from fuse_dialect.tools.opt_help import PICTURES


def picture_taker(
    parser: UsageParser, args: Namespace, form: str, passes: Sequence[ModulePass]
) -> "PictureTaker | None":
    """What draws the plan, if the target is a picture.

    Raises:
        SystemExit: Options contradict each other.
        FuseError: The profile cannot be read.
    """
    if form not in PICTURES and (args.no_open or (args.profile is not None and args.fusion_report is None)):
        option = "--no-open" if args.no_open else "--profile"
        parser.error(f"argument {option}: target '{form}' is no picture")
    if args.split_input_file:
        parser.error("argument -t/--target: one picture or report cannot hold the parts of --split-input-file")
    report: str | None = args.fusion_report
    if report is not None and not is_stdout(report) and splitext(report)[1] not in REPORTS:
        parser.error(f"argument --fusion-report: expected a file that ends in {', '.join(REPORTS)}, got '{report}'")
    return PictureTaker(passes, args.profile, report)


class PictureTaker:
    """Draws the plan of one pass of a pipeline."""

    def __init__(self, passes: Sequence[ModulePass], profile: str | None, report: str | None = None):
        """Choose the pass, and read a profile.

        Args:
            passes: The pipeline; if none of it fuses, what `fuse-ops` would do at its end is drawn.
            profile: Path of what `fuse-run --benchmark --json` wrote.
            report: Where a table of kernels goes; its extension says the form.

        Raises:
            FuseError: The profile cannot be read.
        """
        fusing = [each for each in passes if isinstance(each, FuseOpsPass | FuseOpsHwPass)]
        self._pass: ModulePass | None = fusing[-1] if fusing else None
        self._profile = profile
        self._seconds, self._rates = ({}, None) if profile is None else read_profile(profile)
        self._scene: dict[str, Any] | None = None
        self._report = report

    def before(self, module: ModuleOp, source_map: SourceMap, module_pass: ModulePass) -> None:
        """Look at the module before a pass runs."""
        if module_pass is self._pass:
            self._scene = self._take(module, source_map, module_pass)

    def after(self, module: ModuleOp, source_map: SourceMap) -> None:
        """Look at the module when all passes have run, if none of them fuses."""
        if self._scene is None:
            self._scene = self._take(module, source_map, FuseOpsPass())

    def text(self, target: Target) -> str | None:
        """The picture, if the target is one."""
        assert self._scene is not None, "the module has been looked at"
        return target.text_of(self._scene) if isinstance(target, PictureTarget) else None

    def write_report(self) -> None:
        """Write the table of kernels, if it is asked for.

        Raises:
            FuseError: The file cannot be written.
        """
        if self._report is None or self._scene is None:
            return
        extension = ".md" if is_stdout(self._report) else splitext(self._report)[1]
        write_output(self._report, REPORTS[extension](self._scene))

    def _take(self, module: ModuleOp, source_map: SourceMap, module_pass: ModulePass) -> dict[str, Any]:
        def place(op: Operation) -> str:
            found = source_map.locate(op)
            return str(found) if found.line else ""

        title = "" if source_map.file == "<stdin>" else basename(source_map.file)
        options = SceneOptions(title, place, self._seconds, self._rates)
        scene = scene_of(module, module_pass, options)
        if not scene["blocks"]:
            raise FuseError("there is nothing to draw: no function has ops that fuse", source_map.file_alone())
        if self._profile is not None and not any(
            "seconds" in kernel for block in scene["blocks"] for kernel in block["kernels"]
        ):
            raise FuseError(
                "the profile names none of the kernels of this module",
                SourceLocation(self._profile),
                hint="programs are measured after other passes: add --compile-prefix --fuse-ops",
            )
        return scene


def read_profile(path: str) -> tuple[dict[str, float], tuple[float, float] | None]:
    """Seconds of each kernel in one run, by name, and bytes and operations per second that the machine reaches.

    Raises:
        FuseError: The file cannot be read, or is no profile.
    """
    try:
        with open(path, encoding="utf-8") as stream:
            report = json.load(stream)
        rows = cast("list[dict[str, Any]]", report["kernels"])
        seconds = {
            str(row["name"]): float(row["median_seconds"]) for row in rows if row.get("median_seconds") is not None
        }
        limits = report.get("limits")
        if limits is None:
            return seconds, None
        rates = float(limits["bytes_per_second"]), float(limits["flops_per_second"])
        if not min(rates) > 0:
            raise ValueError("a rate is not positive")
        return seconds, rates
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise FuseError(f"cannot read the profile: {reason}", SourceLocation(path)) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        hint = "fuse-run MODULE --backend llvm --benchmark 20 --json FILE writes one"
        raise FuseError("this is no profile of kernels", SourceLocation(path), hint=hint) from error
