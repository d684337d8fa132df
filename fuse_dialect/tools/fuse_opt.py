"""`fuse-opt`: the command line. What takes time to import is imported when it is needed."""

import sys
from collections.abc import Sequence

from fuse_dialect.loading.streams import write_stdout
from fuse_dialect.tools.exit_status import exit_status


def main(argv: Sequence[str] | None = None) -> int:
    """Run `fuse-opt`.

    Args:
        argv: The command line without the program's name; by default that of the process.

    Returns:
        The exit code: 0 done, 1 an error was reported, 2 wrong usage.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return exit_status(lambda: _run(arguments, options), debug="--debug" in options)


def _run(arguments: list[str], options: list[str]) -> None:
    if not {"-v", "--version", "-version"}.isdisjoint(options):
        from fuse_dialect.tools.version import version_text

        write_stdout(version_text("fuse-opt"))
        return
    if "--demo" in options:
        from fuse_dialect.tools.demo import demo_text

        write_stdout(demo_text())
        return

    if not {"-h", "--help"}.isdisjoint(options):
        from fuse_dialect.tools.opt_help import help_text

        write_stdout(help_text())
        return

    from fuse_dialect.tools.collection import rare_collection

    with rare_collection():
        _run_tool(arguments)


def _run_tool(arguments: list[str]) -> None:
    from fuse_dialect.tools.opt_main import FuseOptMain

    tool = FuseOptMain(args=arguments)
    if tool.args.list_passes:
        from fuse_dialect.tools.list_passes import pass_list

        write_stdout(pass_list(tool.available_passes))
        return
    if tool.args.list_template is not None:
        from xdsl.dialects.builtin import ModuleOp

        from fuse_dialect.hardware.template_file import find_template
        from fuse_dialect.templates.support_table import support_table

        template = find_template(tool.args.list_template, ModuleOp([]), tool.ctx)
        write_stdout("".join(f"{line}\n" for line in support_table(template)))
        return
    if tool.args.print_completion is not None:
        from fuse_dialect.tools.completion import completion_script
        from fuse_dialect.tools.opt_help import help_parser

        passes, targets = sorted(tool.available_passes), sorted(tool.available_targets)
        write_stdout(completion_script(help_parser(), tool.args.print_completion, passes, targets))
        return
    if tool.args.show_dialects:
        names = ",".join(sorted({*tool.ctx.registered_dialect_names}))
        write_stdout(f"Available Dialects: {names}\n")
        return
    if tool.args.help_pass is not None:
        from fuse_dialect.tools.pass_help import pass_help

        write_stdout(pass_help(tool.args.help_pass, tool.available_passes))
        return
    if tool.args.compare_pipelines is not None:
        from fuse_dialect.tools.comparing import show_comparison

        show_comparison(tool)
        return
    tool.run()


if __name__ == "__main__":
    sys.exit(main())
