"""`FuseOptMain`: reads modules, runs passes over them, and writes what a target makes of the result.

Results are kept as text until the last part of the input is done. A file is written if all parts have succeeded, and
stdout gets the results of those that have. Timings and dumps go to stderr at once.
"""

import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from io import StringIO
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass, PassPipeline
from xdsl.targets.mlir import MLIRTarget
from xdsl.utils.arg_spec import ArgSpec, parse_spec
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError, ShrinkException
from xdsl.utils.target import Target
from xdsl.xdsl_opt_main import xDSLOptMain

from fuse_dialect.backends.stored.suffix import SUFFIX
from fuse_dialect.diagnostics import Diagnostic, FuseError, printable
from fuse_dialect.frontends.mlir.deep_stack import call_with_deep_stack
from fuse_dialect.frontends.mlir.reader import context, read_mlir
from fuse_dialect.frontends.mlir.source_map import SourceMap
from fuse_dialect.loading.failure import located_errors
from fuse_dialect.loading.module_file import read_weights
from fuse_dialect.loading.output_file import Writer, check_outputs, is_stdout, write_files, writer_of
from fuse_dialect.loading.pipeline import build_passes
from fuse_dialect.loading.source import SEPARATOR, Source, is_onnx_path, read_sources
from fuse_dialect.loading.streams import tell, write_stdout
from fuse_dialect.loading.verification import verify_module
from fuse_dialect.targets.mlir import FuseMLIRTarget
from fuse_dialect.tools.arguments import UsageParser, limits_of, opt_argument_parser
from fuse_dialect.tools.exit_status import DIAGNOSED, print_error
from fuse_dialect.tools.expected_diagnostics import disagreements, has_expectations
from fuse_dialect.tools.foreign_target import foreign_text
from fuse_dialect.tools.ir_dumps import IRDumps, pipeline_text, write_reproducer
from fuse_dialect.tools.opt_help import DESCRIPTION, FRONTENDS, OWN_TARGETS, PICTURES
from fuse_dialect.tools.option_hints import attached_to_one_dash, option_hint
from fuse_dialect.tools.pass_flags import split_pass_flags
from fuse_dialect.universe import OWN_NAMES

if TYPE_CHECKING:
    from fuse_dialect.loading.given_kinds import GivenKinds
    from fuse_dialect.targets.onnx.target import OnnxTarget
    from fuse_dialect.targets.weights import Weights
    from fuse_dialect.tools.looking import Looking
    from fuse_dialect.tools.picture import PictureTaker
    from fuse_dialect.tools.saved_target import SavedProgramTarget


_FOR_ANY_MACHINE = ("tvm", "separate")
"""Strategies that ask for no machine."""


def _kernel_target() -> type[Target]:
    from fuse_dialect.targets.llvm import KernelTarget

    return KernelTarget


def _saved_target() -> type[Target]:
    from fuse_dialect.tools.saved_target import SavedProgramTarget

    return SavedProgramTarget


def _onnx_target() -> type[Target]:
    from fuse_dialect.targets.onnx.target import OnnxTarget

    return OnnxTarget


class FuseOptMain(xDSLOptMain):
    """The driver behind `fuse-opt`; construct it with the command line, then `run()` it."""

    ctx: Context
    passes: Sequence[ModulePass]
    """What to run, in order."""
    target_spec: ArgSpec
    weights: "Weights | None" = None
    """Constants of the result that go to a file of their own."""
    model: bytes | None = None
    """The result, if it is no text."""
    writer: Writer | None = None
    """Writes the result, if it is not in memory."""
    _diagnostics: list[Diagnostic] | None = None
    """Diagnostics of the source at hand, if the input says which it expects."""

    def __init__(self, description: str = DESCRIPTION, args: Sequence[str] | None = None):
        """Read the command line.

        Raises:
            FuseError: A pass is unknown or has wrong options, or a file would be overwritten that is read.
            SystemExit: Wrong usage, or `--help`.
        """
        self.available_frontends = {}
        self.available_passes = {}
        self.available_targets = {}
        self.register_all_dialects()
        self.register_all_frontends()
        self.register_all_passes()
        self.register_all_targets()
        parser = opt_argument_parser(
            description, self.available_frontends, OWN_TARGETS, sorted({*self.available_targets} - {*OWN_TARGETS})
        )
        parser.pass_names = self.available_passes
        self.register_all_arguments(parser)
        arguments = sys.argv[1:] if args is None else args
        split = split_pass_flags(arguments, self.available_passes, parser.long_options)
        parser.explain = lambda word: option_hint(word, split.rest, split.passes, self.available_passes)
        if (word := attached_to_one_dash(split.rest, self.available_passes)) is not None:
            parser.error(f"unrecognized arguments: {word}")
        rest = ["--verify-each=true" if word == "--verify-each" else word for word in split.rest]
        self.args = parser.parse_args(rest)
        self.target_spec = self._target_spec(parser)
        self.ctx.allow_unregistered = self.args.allow_unregistered_dialect
        self._load_irdl()
        self._kinds = self._given_kinds()
        self.passes = build_passes(split.passes, self.available_passes)
        if self.args.target_cpu is not None:
            self.passes = self._planned(parser, self.passes, self.args.target_cpu)
        if self.args.fusion_limit is not None:
            self.passes = self._limited(parser, self.passes)
        self._check_dumps(parser)
        self._check_weights(parser)
        self._picture = self._picture_taker(parser)
        self._looking = self._looks(parser)
        check_outputs(
            {
                "--output-file": self.args.output_file,
                "--weights": self.args.weights,
                "--remarks-output-file": self.args.remarks_output_file,
                "--fusion-report": self.args.fusion_report,
                "--mlir-pass-pipeline-crash-reproducer": self.args.mlir_pass_pipeline_crash_reproducer,
            },
            {
                "the input": self.args.input_file,
                "--input-weights": self.args.input_weights,
                "--profile": self.args.profile,
                **{f"--kinds {path}": path for path in self.args.kinds},
                **{f"--irdl {path}": path for path in self.args.irdl},
            },
        )
        self._dumps = IRDumps(self.args, self._text_of)
        self.setup_pipeline()

    def _target_spec(self, parser: UsageParser) -> ArgSpec:
        """The target that is named, else that of the extension of the output file; they may not contradict."""
        output, given = self.args.output_file, self.args.target
        if self.args.view:
            if given not in (None, "html"):
                parser.error(f"argument -t/--target: --view writes html, not '{given}'")
            given = "html"
        is_onnx_file = not is_stdout(output) and is_onnx_path(output)
        is_saved_file = not is_stdout(output) and output.lower().endswith(SUFFIX)
        if given is None:
            return ArgSpec("onnx" if is_onnx_file else "fuse" if is_saved_file else "mlir", {})
        try:
            spec = parse_spec(given)
        except ArgSpecParseError:
            parser.error(f"argument -t/--target: cannot read '{given}'")
        if spec.name not in self.available_targets:
            known = ", ".join(sorted(self.available_targets))
            parser.error(f"argument -t/--target: unknown target '{spec.name}', expected one of {known}")
        is_model = spec.name == "onnx" and not spec.parameters.get("text")
        if is_onnx_file and not is_model:
            parser.error(f"argument -t/--target: '{given}' writes text, and '{output}' is read as an ONNX model")
        if is_saved_file and spec.name != "fuse":
            parser.error(f"argument -t/--target: '{given}' writes no saved program, as '{output}' is read")
        if spec.name == "fuse" and not is_stdout(output) and not is_saved_file:
            parser.error(f"argument -t/--target: 'fuse' writes a saved program, whose name ends in '{SUFFIX}'")
        if is_model and not is_stdout(output) and output.lower().endswith(".mlir"):
            parser.error(f"argument -t/--target: 'onnx' writes a model, and '{output}' is read as text")
        return spec

    def _picture_taker(self, parser: UsageParser) -> "PictureTaker | None":
        """What draws the plan, if a picture is asked for."""
        form, args = self.target_spec.name, self.args
        if form not in PICTURES and not args.no_open and args.profile is None and args.fusion_report is None:
            return None
        from fuse_dialect.tools.picture import picture_taker

        return picture_taker(parser, args, form, self.passes)

    def _looks(self, parser: UsageParser) -> "Looking | None":
        """What tells remarks and stories, if they are asked for."""
        args = self.args
        filters = [getattr(args, f"remarks_filter{name}") for name in ("", "_passed", "_missed", "_analysis")]
        others = (
            args.fusion_remarks,
            args.explain,
            args.debug_only,
            args.remarks_verbose,
            args.remark_format != "text",
        )
        if not any(others) and args.remarks_output_file is None and not any(each is not None for each in filters):
            return None
        from fuse_dialect.tools.looking import Looking

        return Looking(parser, args)

    def _limited(self, parser: UsageParser, passes: Sequence[ModulePass]) -> list[ModulePass]:
        """The passes, `fuse-ops` with the limit of the command line."""
        if not any(each.name == "fuse-ops" for each in passes):
            parser.error("argument --fusion-limit: no fuse-ops on the command line makes merges")
        limit = self.args.fusion_limit
        return [cast(Any, each).using(fusion_limit=limit) if each.name == "fuse-ops" else each for each in passes]

    def _planned(self, parser: UsageParser, passes: Sequence[ModulePass], machine: str) -> list[ModulePass]:
        """The passes, those that plan for a machine with that of the command line where they name none."""

        def has_open_machine(each: ModulePass) -> bool:
            return getattr(each, "machine", None) == "" and getattr(each, "grouped_by", "tvm") not in _FOR_ANY_MACHINE

        found = [replace(cast(Any, each), machine=machine) if has_open_machine(each) else each for each in passes]
        if found == list(passes) and self.target_spec.name not in ("llvm", "fuse"):
            parser.error(
                f"argument --target-cpu: target '{self.target_spec.name}' is for no machine, and no pass plans for one"
            )
        return found

    def _check_dumps(self, parser: UsageParser) -> None:
        """Refuse names of passes that do not exist."""
        for flag, names in (
            ("--mlir-print-ir-before", self.args.mlir_print_ir_before),
            ("--mlir-print-ir-after", self.args.mlir_print_ir_after),
        ):
            for name in names:
                if name not in self.available_passes:
                    parser.error(f"argument {flag}: unknown pass '{name}'")

    def _check_weights(self, parser: UsageParser) -> None:
        """Refuse a weights file where there is none, or no place for it."""
        if self.target_spec.name == "onnx" and self.args.split_input_file:
            parser.error("argument -t/--target: one ONNX model cannot hold the parts of --split-input-file")
        if self.args.weights is None:
            return
        if self.target_spec.name not in ("mlir", "onnx"):
            parser.error(f"argument --weights: target '{self.target_spec.name}' writes no weights")
        if self.args.split_input_file:
            parser.error("argument --weights: not allowed with --split-input-file, which gives several results")
        if self.args.weights == "-":
            parser.error("argument --weights: expected a file, got stdout")
        output = self.args.output_file
        for option, path in (("--output-file", output), ("the input", self.args.input_file)):
            if not is_stdout(path) and os.path.realpath(path) == os.path.realpath(self.args.weights):
                parser.error(f"argument --weights: expected another file than that of {option}")
        if self.target_spec.name == "onnx":
            folders = [os.path.dirname(os.path.realpath(path)) for path in (output or "-", self.args.weights)]
            if is_stdout(output) or folders[0] != folders[1]:
                parser.error("argument --weights: an ONNX model takes weights only from files in its own folder")

    def register_all_dialects(self) -> None:
        """Make every dialect known that xDSL and its plug-ins provide."""
        self.ctx = context()

    def _given_kinds(self) -> "GivenKinds | None":
        """What the files of the command line say of kinds."""
        if not self.args.kinds:
            return None
        from fuse_dialect.loading.given_kinds import GivenKinds

        return GivenKinds(self.args.kinds)

    def _load_irdl(self) -> None:
        """Make the dialects known that the command line names files of.

        Raises:
            FuseError: A file cannot be read, or defines no dialect.
        """
        if not self.args.irdl:
            return
        from fuse_dialect.loading.irdl_file import load_irdl

        for path in self.args.irdl:
            load_irdl(self.ctx, path)

    def register_all_frontends(self) -> None:
        """Name the input formats; `parse_source` reads them, because it needs more than a stream."""
        for name in FRONTENDS:
            self.available_frontends[name] = lambda stream: parse_only(self, stream.read())

    def register_all_targets(self) -> None:
        """Make every target known; `mlir` and `llvm` are ours."""
        self.available_targets["mlir"] = lambda: FuseMLIRTarget
        self.available_targets["llvm"] = _kernel_target
        self.available_targets["onnx"] = _onnx_target
        self.available_targets["fuse"] = _saved_target
        self.available_targets.update(OWN_NAMES.all_targets)
        super().register_all_targets()

    def register_all_passes(self) -> None:
        """Make every pass known; ours have the names of this package, and those that other tools know."""
        self.available_passes.update(OWN_NAMES.all_passes)
        super().register_all_passes()

    def register_all_arguments(self, arg_parser: ArgumentParser) -> None:
        """Hook for subclasses; the arguments of `fuse-opt` itself are registered already."""

    def setup_pipeline(self) -> None:
        """Keep the passes as a pipeline of xDSL too, for code that asks for one."""
        self.pipeline = PassPipeline(tuple(self.passes))

    def run(self) -> None:
        """Do everything that the command line asks for.

        Raises:
            FuseError: The input, a pass or the output failed.
        """
        if self.args.dump_pass_pipeline:
            tell(f"Pass Manager with {len(self.passes)} passes:\n{pipeline_text(self.passes)}")
        sources = read_sources(self.args.input_file, self.args.frontend, split=self.args.split_input_file)
        try:
            with self._verification():
                text, failed = self.process(sources)
        except ShrinkException:
            if not self.args.shrink:
                raise FuseError("a pass says that the input can shrink", hint="--shrink is for that") from None
            write_stdout("Success, can shrink\n")
            return
        if failed is not None:
            if is_stdout(self.args.output_file) and text:
                write_stdout(text)
            raise failed
        self._write(text)
        if self.args.shrink:
            # shrinkray and the like go by the exit code: not 0 says that there is nothing of interest any more.
            write_stdout("Failure, can't shrink\n")
            raise SystemExit(DIAGNOSED)

    def _write(self, text: str) -> None:
        """Write the result, and its weights."""
        if self._picture is not None:
            self._picture.write_report()
        if self._looking is not None:
            self._looking.finish()
            if self._looking.is_result:
                return
        if self.args.view:
            from fuse_dialect.tools.browser import deliver_page

            deliver_page(text, self.args.output_file, self.args.input_file, opens=not self.args.no_open)
            return
        output, result = self.args.output_file, text if self.model is None else self.model
        files: list[tuple[str, Writer]] = []
        if self.weights is not None:
            files.append((self.args.weights, self.weights.write))
        if is_stdout(output):
            write_files(files)
            write_stdout(result)
        else:
            write_files([*files, (output, self.writer or writer_of(result))])

    def process(self, sources: Sequence[Source]) -> tuple[str, FuseError | None]:
        """The results for all sources, in order, and the error of the last that failed.

        The errors of the others are on stderr by then. A source that failed has nothing between its separators, as
        mlir-opt writes it; if all did, there is no text.
        """
        self._diagnostics = [] if self.args.verify_diagnostics and has_expectations(sources) else None
        results: list[str] = []
        errors: list[FuseError] = []
        failures = 0
        for source in sources:
            try:
                text, wrong = self._process_or_diagnose(source), self._disagreements(source)
            except FuseError as error:
                text, wrong = "", [error]
                failures += 1
            results.append(text)
            for error in wrong:
                if errors:
                    print_error(errors[-1], self.args.debug)
                errors.append(error)
        if self._kinds is not None:
            for warning in self._kinds.warnings():
                tell(warning.format())
        text = SEPARATOR.join(results) if failures < len(sources) else ""
        return text, errors[-1] if errors else None

    def _disagreements(self, source: Source) -> list[FuseError]:
        """What differs from the diagnostics that a source expects; afterwards none are kept."""
        if self._diagnostics is None:
            return []
        given, self._diagnostics = self._diagnostics, []
        return [FuseError(each.message, each.location) for each in disagreements(source, given)]

    def process_one(self, source: Source) -> str:
        """The result for one source."""
        with self._timed("parse"):
            module, source_map = self.parse_source(source)
            if self.args.weights is not None or self.args.input_weights is not None:
                read_weights(module, source_map, self.ctx, self.args.input_weights)
            if self.args.print_debuginfo:
                source_map.write_locations()
        self.run_passes(module, source_map)
        if self._looking is not None:
            with located_errors(source_map, " while a story is told"):
                self._looking.end_of_source(module)
        where, verified = f" in target '{self.target_spec.name}'", not self.args.disable_verify
        with self._timed("print"), located_errors(source_map, where, is_verified=verified):
            if self._picture is not None:
                self._picture.after(module, source_map)
                if (drawn := self._picture.text(self._target())) is not None:
                    return drawn
            return self.output_resulting_program(module)

    def parse_source(self, source: Source) -> tuple[ModuleOp, SourceMap]:
        """The module of a source, with the kinds of the command line, and where its operations stand."""
        module, source_map = self._parse(source)
        if self._kinds is not None:
            self._kinds.stamp(module, source_map)
        return module, source_map

    def _parse(self, source: Source) -> tuple[ModuleOp, SourceMap]:
        if source.frontend == "onnx":
            from fuse_dialect.loading.onnx_source import read_onnx

            module = read_onnx(source, allow_unsupported=self.args.allow_unsupported_onnx, limits=limits_of(self.args))
            return module, SourceMap(source.name, "")
        return read_mlir(
            source.data,
            source.name,
            self.ctx,
            implicit_module=not self.args.no_implicit_module,
            line_offset=source.line_offset,
        )

    def run_passes(self, module: ModuleOp, source_map: SourceMap) -> None:
        """Run all passes, and verify the module before the first and after each."""
        self._verify(module, source_map, None)
        with self._reproducer(module):
            for index, module_pass in enumerate(self.passes):
                self._run_pass(module_pass, module, source_map, is_last=index + 1 == len(self.passes))

    def _run_pass(self, module_pass: ModulePass, module: ModuleOp, source_map: SourceMap, *, is_last: bool) -> None:
        name = module_pass.name
        self._dumps.before(name, module)
        note, verified = f"while running pass '{name}'", not self.args.disable_verify
        if self._looking is not None:
            with located_errors(source_map, f" in pass '{name}'", note, is_verified=verified):
                self._looking.before(module, source_map, module_pass, self.ctx, self._diagnostics)
        statistics = self._statistics(module, source_map, module_pass)
        if self._picture is not None:
            with located_errors(source_map, " while the picture is drawn", note, is_verified=verified):
                self._picture.before(module, source_map, module_pass)
        with self._timed(name), located_errors(source_map, f" in pass '{name}'", note, is_verified=verified):
            module_pass.apply(self.ctx, module)
        if statistics is not None:
            tell(statistics())
        if self.args.verify_each or is_last:
            self._verify(module, source_map, f"after pass '{name}'")
        self._dumps.after(name, module, is_last=is_last)

    @contextmanager
    def _reproducer(self, module: ModuleOp) -> Generator[None]:
        """Write a file that reproduces the error of a pass, if that is asked for."""
        path = self.args.mlir_pass_pipeline_crash_reproducer
        if path is None:
            yield
            return
        text = self._text_of(module)
        try:
            yield
        except Exception:
            flags = ["--allow-unregistered-dialect"] if self.args.allow_unregistered_dialect else []
            flags += [word for path in self.args.irdl for word in ("--irdl", path)]
            write_reproducer(path, text, self.passes, flags)
            raise

    def output_resulting_program(self, prog: ModuleOp) -> str:
        """The module as the target spells it."""
        if self.args.weights is not None:
            from fuse_dialect.targets.weights import collect_weights

            self.weights = collect_weights(prog)
        target, name = self._target(), self.target_spec.name
        if name == "fuse":
            program = cast("SavedProgramTarget", target).program(prog)
            if is_stdout(self.args.output_file):
                self.model = program.to_bytes()
            else:
                from fuse_dialect.loading.saved_programs import saved_writer

                self.writer = saved_writer(program)
            return ""
        if name == "onnx" and not getattr(target, "text", False):
            self.model = cast("OnnxTarget", target).model_bytes(
                prog, self.weights, os.path.basename(self.args.weights or "")
            )
            return ""
        if name not in OWN_TARGETS or name == "llvm":  # without functions that is xDSL's
            return foreign_text(target, name, self.ctx, prog)
        output = StringIO()
        target.emit(self.ctx, prog, output)
        return output.getvalue()

    def _target(self) -> Target:
        factory = self.available_targets[self.target_spec.name]
        cls = cast(type[Target], factory())  # pyright: ignore[reportCallIssue]
        if issubclass(cls, MLIRTarget):
            return replace(self._mlir_target(), weights=self.weights)
        try:
            target = cls.from_spec(self.target_spec)
        except ValueError as error:
            message = str(error)
            raise FuseError(f"target '{self.target_spec.name}': {message[:1].lower()}{message[1:]}") from error
        # Others have no code of a machine's: what cost plans for may be named all the same.
        if self.args.target_cpu is None or not hasattr(target, "target_cpu"):
            return target
        return replace(cast(Any, target), target_cpu=self.args.target_cpu)

    def _mlir_target(self) -> FuseMLIRTarget:
        return FuseMLIRTarget(
            print_generic_format=self.args.print_op_generic,
            print_properties_as_attributes=self.args.print_no_properties,
            print_debuginfo=self.args.print_debuginfo,
            syntax_highlight=self.args.syntax_highlight,
            elide_larger_than=self.args.elide_larger_than,
            clauses=self.args.print_clauses,
        )

    def _verify(self, module: ModuleOp, source_map: SourceMap, note: str | None) -> None:
        if self.args.disable_verify:
            return
        with self._timed("verify"), located_errors(source_map, " in the verifier", note):
            verify_module(module)

    def _statistics(self, module: ModuleOp, source_map: SourceMap, module_pass: ModulePass) -> Callable[[], str] | None:
        """What gives the statistics of the pass once it has run, or `None` if nobody asked or it does not fuse."""
        if not self.args.mlir_pass_statistics:
            return None
        from fuse_dialect.tools.statistics import observe

        name = module_pass.name
        with located_errors(source_map, f" in pass '{name}'", f"while running pass '{name}'"):
            return observe(module_pass, module, self.ctx, as_json=self.args.mlir_pass_statistics_display == "json")

    def _text_of(self, module: ModuleOp) -> str:
        text = StringIO()
        self._mlir_target().emit(self.ctx, module, text)
        return text.getvalue()

    @contextmanager
    def _timed(self, step: str) -> Generator[None]:
        start = perf_counter()
        yield
        if self.args.time_passes:
            tell(f"{perf_counter() - start:10.4f} s  {step}")

    @contextmanager
    def _verification(self) -> Generator[None]:
        """Switch off the verification of attributes for this run, if that is asked for; xDSL has only a global way."""
        if not self.args.disable_verify:
            yield
            return
        post_init = Attribute.__post_init__
        Attribute.__post_init__ = lambda self: None
        try:
            yield
        finally:
            Attribute.__post_init__ = post_init

    def _process_or_diagnose(self, source: Source) -> str:
        """The result for a source, or the text of the error that a test expects."""
        try:
            try:
                return self.process_one(source)
            except RecursionError:
                return call_with_deep_stack(lambda: self.process_one(source), source.name)
        except FuseError as error:
            if self._diagnostics is None:
                return self._expected_error(error, source)
            self._diagnostics.append(error.diagnostic)
            return ""

    def _expected_error(self, error: FuseError, source: Source) -> str:
        """The text of an error, for tests of errors; as `xdsl-opt` prints it, where it has such an error.

        Raises:
            FuseError: The error itself, when no test expects it.
        """
        cause = error.__cause__
        if isinstance(cause, ParseError):
            if self.args.parsing_diagnostics:
                cause.span = replace(cause.span, line_offset=source.line_offset)
                return "".join(f"{printable(line)}\n" for line in str(cause).split("\n"))
        elif self.args.verify_diagnostics:
            if isinstance(cause, DiagnosticException):
                parts = (cause, *getattr(cause, "__notes__", ()))
                return "".join(f"{printable(line)}\n" for part in parts for line in str(part).split("\n"))
            return f"{error.diagnostic.format()}\n"
        raise error


def parse_only(main: FuseOptMain, data: bytes) -> ModuleOp:
    """The module of some MLIR text, for callers that use xDSL's way to call frontends."""
    return read_mlir(data, main.get_input_name(), main.ctx)[0]
