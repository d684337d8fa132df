"""Flags that mlir-opt would understand, and argparse would not: `--canonicalize`, `--fuse-ops="max-depth=8"`.

The order of passes on the command line is the order in which they run, whether they are spelled as flags, in `-p` or
in `--pass-pipeline`; so these are taken out of the arguments first.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from fuse_dialect.diagnostics import FuseError

_PIPELINE_FLAGS = ("-p", "--passes", "--pass-pipeline")
_MODULE_ANCHOR = re.compile(r"\s*(?:builtin\.module|any)\s*\((.*)\)\s*", re.DOTALL)
_NESTED_ANCHOR = re.compile(r"\s*([\w.]+)\s*\(")
_BRACED_FLAG = re.compile(r"--([\w-]+)\{(.*?)\}?", re.DOTALL)
"""A pass spelled half as a flag and half as in a pipeline: `--fuse-ops{max-depth=8}`."""
_LONE_OPTION = re.compile(r"[a-z][a-z-]*=\w*")
"""An argument that looks like `max-depth=8`."""
_BARE_PATH = re.compile(r"(?<==)(?![-+]?[\d.]+(?:[eE][-+]?\d+)?(?:[\s,}]|$))[\w./~\\:@+-]*[./~\\][\w./~\\:@+-]*")
"""A value of an option that is a path, without the quotes that xDSL's syntax wants. A number is no path."""
_CLOSERS = {"{": "}", "[": "]", "(": ")", '"': '"'}


@dataclass(frozen=True, slots=True)
class SplitArguments:
    """A command line, divided."""

    passes: tuple[str, ...]
    """Passes in order, each spelled `name` or `name{option=value ...}`."""
    rest: tuple[str, ...]
    """Arguments for argparse."""


def split_pass_flags(
    arguments: Sequence[str], pass_names: Collection[str], long_options: Collection[str] = ()
) -> SplitArguments:
    """Divide the arguments into passes and the rest.

    Args:
        arguments: The command line, without the program's name.
        pass_names: Known passes.
        long_options: Options such as `--print-op-generic`, which may also be spelled with one dash, as in LLVM's tools.

    Raises:
        FuseError: A pipeline is malformed, `-p` has none, or options are not written behind a pass as they must be.
    """
    passes: list[str] = []
    rest: list[str] = []
    pending = list(reversed(arguments))
    while pending:
        argument = pending.pop()
        if argument == "--":
            rest.extend((argument, *reversed(pending)))
            break
        argument = _two_dashes(argument, pass_names, long_options)
        if (braced := _BRACED_FLAG.fullmatch(argument)) is not None and braced[1] in pass_names:
            hint = f'write --{braced[1]}="{braced[2]}", or -p "{braced[1]}{{{braced[2]}}}"'
            raise FuseError(f"braces belong into a pipeline: '{argument}'", hint=hint)
        flag, equals, value = argument.partition("=")
        if flag in _PIPELINE_FLAGS:
            if not equals and not pending:
                raise FuseError(f"expected a list of passes after '{flag}'")
            passes.extend(split_pipeline(value if equals else pending.pop()))
        elif flag.startswith("--") and flag[2:] in pass_names:
            if not equals and pending and _LONE_OPTION.fullmatch(pending[-1]):
                hint = f'write {flag}="{pending[-1]}"'
                raise FuseError(f"'{pending[-1]}' stands apart from the pass '{flag[2:]}'", hint=hint)
            passes.append(f"{flag[2:]}{{{value.strip()}}}" if value.strip() else flag[2:])
        else:
            rest.append(argument)
    return SplitArguments(tuple(map(_with_quoted_paths, passes)), tuple(rest))


def _with_quoted_paths(spec: str) -> str:
    """The pass with quotes around paths: `p{template=npu.mlir}` becomes `p{template="npu.mlir"}`."""
    parts = re.split(r'("[^"]*")', spec)
    return "".join(part if part.startswith('"') else _BARE_PATH.sub(r'"\g<0>"', part) for part in parts)


def _two_dashes(argument: str, pass_names: Collection[str], long_options: Collection[str]) -> str:
    """The argument with two dashes, if it is a long option spelled with one; `-pNAME` becomes `-p=NAME`."""
    if not re.match(r"-[a-z][a-z-]", argument):
        return argument
    flag = argument.partition("=")[0]
    if flag[1:] in pass_names or f"-{flag}" in long_options or f"-{flag}" in _PIPELINE_FLAGS:
        return f"-{argument}"
    if (name := re.match(r"-p([\w-]+)", argument)) and name[1] in pass_names:
        return f"-p={argument[2:]}"
    return argument


def split_pipeline(pipeline: str) -> list[str]:
    """The passes of a comma-separated pipeline; a `builtin.module(...)` around it is taken off.

    Raises:
        FuseError: A bracket or quote stays open, the pipeline is nested, or there is nothing between two commas.
    """
    if (wrapped := _MODULE_ANCHOR.fullmatch(pipeline)) is not None:
        return split_pipeline(wrapped[1])
    passes: list[str] = []
    if not pipeline.strip():
        return passes
    for element in _split_at_commas(pipeline):
        if (anchor := _NESTED_ANCHOR.match(element)) is not None:
            raise FuseError(
                f"pass pipeline is nested: '{anchor[1]}(...)'",
                hint="passes run on the whole module: write builtin.module(pass,pass) or pass,pass",
            )
        name, brace, options = element.strip().partition("{")
        if brace and options.rstrip().endswith("}"):
            options = options.rstrip()[:-1].strip()
            passes.append(f"{name.strip()}{{{options}}}" if options else name.strip())
        elif name or brace:
            passes.append(element.strip())
        else:
            raise FuseError(f"the pass pipeline '{pipeline}' has a comma without a pass before or after it")
    return passes


def _split_at_commas(pipeline: str) -> list[str]:
    """The parts between commas that stand in no bracket and no quotes."""
    parts, start, open_brackets = list[str](), 0, list[str]()
    for index, char in enumerate(pipeline):
        if open_brackets and char == open_brackets[-1]:
            open_brackets.pop()
        elif open_brackets and open_brackets[-1] == '"':
            continue
        elif char in _CLOSERS:
            open_brackets.append(_CLOSERS[char])
        elif char == "," and not open_brackets:
            parts.append(pipeline[start:index])
            start = index + 1
    if open_brackets:
        raise FuseError(f"expected '{open_brackets[-1]}' at the end of the pass pipeline '{pipeline}'")
    parts.append(pipeline[start:])
    return parts
