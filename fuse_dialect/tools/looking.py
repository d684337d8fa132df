"""What people ask about the passes that fuse: remarks, and stories of ops. Imported when somebody asks."""

import re
from argparse import Namespace
from collections.abc import Callable, Mapping

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from fuse_dialect.diagnostics import Diagnostic, printable
from fuse_dialect.frontends.mlir.source_map import SourceMap
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.hardware.fuse_ops_hw import FuseOpsHwPass
from fuse_dialect.loading.output_file import is_stdout, write_file, writer_of
from fuse_dialect.loading.streams import tell, write_stdout
from fuse_dialect.remarks.debug_log import debug_lines
from fuse_dialect.remarks.explaining import explain
from fuse_dialect.remarks.hardware import explain_on_hardware
from fuse_dialect.remarks.rows import RemarkRow, RemarkType, remark_rows
from fuse_dialect.tools.arguments import UsageParser
from fuse_dialect.tools.remark_output import PlacedRemark, json_text, text_lines, yaml_text

_FORMS: Mapping[str, Callable[[list[PlacedRemark]], str]] = {"json": json_text, "yaml": yaml_text}


class Looking:
    """Looks at the module before each pass that fuses, and says what was asked."""

    def __init__(self, parser: UsageParser, args: Namespace):
        """Read the options.

        Raises:
            SystemExit: A filter is no regular expression, or options contradict each other.
        """
        self._filters = _filters(parser, args)
        self._form, self._file, self._verbose = args.remark_format, args.remarks_output_file, args.remarks_verbose
        self._questions: list[str] = args.explain
        shows_module = args.target is not None or args.output_file == "-"
        self._tell: Callable[[str], object] = tell if shows_module else _print
        self.is_result = bool(args.explain) and not shows_module and args.output_file is None and not args.view
        """Whether stories are all that the user wants to see."""
        self._debugged = _debug_types(parser, args)
        self._explained = False
        self._kept: list[PlacedRemark] = []
        if self._file is not None and is_stdout(self._file):
            parser.error("argument --remarks-output-file: expected a file, got stdout")

    def before(
        self,
        module: ModuleOp,
        source_map: SourceMap,
        module_pass: ModulePass,
        ctx: Context,
        diagnostics: list[Diagnostic] | None,
    ) -> None:
        """Look at the module before a pass runs.

        Args:
            module: The module.
            source_map: Where ops stand.
            module_pass: The pass.
            ctx: To read a template.
            diagnostics: Gets the remarks instead, for an input that says which it expects.
        """
        if module_pass.name in self._debugged and isinstance(module_pass, FuseOpsPass):
            for line in debug_lines(module, module_pass):
                tell(printable(f"[{module_pass.name}] {line}"))
        if self._questions and isinstance(module_pass, FuseOpsPass | FuseOpsHwPass):
            self._explain(module, module_pass, ctx)
        found = [
            PlacedRemark.of(row, source_map.locate(row.op))
            for row in remark_rows(module, module_pass, ctx, [*self._filters])
            if self._is_wanted(row)
        ]
        if diagnostics is not None:
            diagnostics += [remark.diagnostic() for remark in found]
        elif self._file is None and self._form == "text":
            for line in text_lines(found, verbose=self._verbose):
                tell(line)
        else:
            self._kept += found

    def end_of_source(self, module: ModuleOp) -> None:
        """Answer what no pass has answered: what `fuse-ops` would do now."""
        if self._questions and not self._explained:
            self._explain(module, FuseOpsPass(), Context())
        self._explained = False

    def finish(self) -> None:
        """Write what was kept.

        Raises:
            FuseError: The file cannot be written.
        """
        if self._file is None and self._form == "text":
            return
        if self._form == "text":
            text = "".join(f"{line}\n" for line in text_lines(self._kept, verbose=self._verbose))
        else:
            text = _FORMS[self._form](self._kept)
        if self._file is None:
            if self._filters:
                tell(text.rstrip("\n"))
        else:
            write_file(self._file, writer_of(text))

    def _explain(self, module: ModuleOp, module_pass: FuseOpsPass | FuseOpsHwPass, ctx: Context) -> None:
        self._explained = True
        if isinstance(module_pass, FuseOpsPass):
            stories = [explain(module, module_pass, question) for question in self._questions]
        else:
            stories = [explain_on_hardware(module, module_pass, question, ctx) for question in self._questions]
        self._tell("\n\n".join(stories))

    def _is_wanted(self, row: RemarkRow) -> bool:
        """Whether the filter of the row's type finds its pass, code, op or names."""
        pattern = self._filters.get(row.type)
        text = f"{row.pass_name}:{row.code} {row.message} {row.value} {row.source} @{row.function}"
        return pattern is not None and pattern.search(text) is not None


def _debug_types(parser: UsageParser, args: Namespace) -> frozenset[str]:
    """The passes whose steps are told.

    Raises:
        SystemExit: A pass tells no steps.
    """
    asked = frozenset(name.strip() for text in args.debug_only for name in text.split(","))
    for name in sorted(asked - {FuseOpsPass.name}):
        parser.error(f"argument --debug-only: expected {FuseOpsPass.name}, got '{name}'")
    return asked


def _print(text: str) -> None:
    write_stdout(f"{text}\n")


def _filters(parser: UsageParser, args: Namespace) -> dict[RemarkType, re.Pattern[str]]:
    """What is asked for of each type."""
    asked: dict[RemarkType, str] = {RemarkType.MISSED: ""} if args.fusion_remarks else {}
    if args.remarks_filter is not None:
        asked = {type: str(args.remarks_filter) for type in RemarkType}
    for type in RemarkType:
        if (given := getattr(args, f"remarks_filter_{type.value}")) is not None:
            asked[type] = given
    if not asked and (args.remarks_output_file is not None or args.remark_format != "text" or args.remarks_verbose):
        asked = {RemarkType.MISSED: ""}
    filters: dict[RemarkType, re.Pattern[str]] = {}
    for type, text in asked.items():
        try:
            filters[type] = re.compile(text)
        except (re.error, RecursionError, OverflowError) as error:
            parser.error(f"argument --remarks-filter: '{text}' is no regular expression: {error}")
    return filters
