"""How fast fused programs run, beside other engines, in one run.

    python tools/bench_runtime.py --list
    python tools/bench_runtime.py --json results.json --chart results.svg
    python tools/bench_runtime.py --workloads chain16m,softmax --engines ours,onnxruntime --threads 1
    python tools/bench_runtime.py --from-json results.json --chart results.svg    # measure nothing
    python tools/bench_runtime.py --startup      # seconds from the file of ResNet-18 to its first result
    python tools/bench_runtime.py --memory       # peak memory of ResNet-50

Every engine runs in a process of its own, pinned to as many cores as it has threads. For each workload all engines are
set up, and their outputs compared with NumPy's in f64; whoever is wrong is not timed. Then they take turns, round after
round, while the others are suspended, so that a busy machine meets all alike. What the machine can do at best is
measured in every round, too. Engines that are not installed are left out, and named; the extra `bench` installs them.

The report goes to stdout as Markdown, progress to stderr. Exit code: 0, also where a bar is missed; 2 for wrong usage.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from runtime_bench.chart import chart
from runtime_bench.drive import Plan, engines_named, run
from runtime_bench.engines import ENGINES, NotAvailableError
from runtime_bench.first_run import memory_report, startup_report
from runtime_bench.report import markdown
from runtime_bench.results import Results
from runtime_bench.verdict import Statistic
from runtime_bench.workloads import WORKLOADS, Workload


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _listing() -> str:
    lines = ["workloads:"]
    for each in WORKLOADS:
        bar = f"<= {each.bar.ratio:.2f}x the best of {', '.join(each.bar.peers)}"
        if each.bar.unfused is not None:
            bar += f"; <= {each.bar.unfused:.2f}x unfused"
        if each.bar.limit is not None:
            bar += f"; >= {each.bar.share:.0%} of {each.bar.limit}"
        lines.append(f"  {each.name:<16} {each.what}; bar: {bar}")
    lines.append("engines (* runs only when it is named):")
    for engine in ENGINES:
        try:
            state = engine.version()
        except NotAvailableError as error:
            state = f"not available: {error}"
        lines.append(f"  {engine.name + ('' if engine.default else '*'):<16} {state}; {engine.how}")
    return "\n".join(lines)


def _names(text: str, known: Sequence[str]) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(f"unknown name '{name}'; known are {', '.join(known)}")
    return names


def _parser() -> argparse.ArgumentParser:
    workloads, engines = [each.name for each in WORKLOADS], [engine.name for engine in ENGINES]
    parser = argparse.ArgumentParser(description="Run fused programs beside other engines.")
    parser.add_argument("--list", action="store_true", help="show workloads with their bars, and engines")
    parser.add_argument("--workloads", type=lambda text: _names(text, workloads), metavar="A,B", help="only these")
    parser.add_argument("--engines", type=lambda text: _names(text, engines), metavar="A,B", help="only these")
    parser.add_argument("--threads", default="1,2", metavar="N,N", help="counts to run with (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each engine (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.15, help="of each turn (default: %(default)s)")
    parser.add_argument("--statistic", type=Statistic, choices=list(Statistic), default=Statistic.MEDIAN)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures")
    parser.add_argument("--from-json", type=Path, metavar="FILE", help="report figures of an earlier run")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the report to a file, not to stdout")
    parser.add_argument("--chart", type=Path, metavar="FILE", help="write an SVG chart of each number of threads")
    parser.add_argument("--startup", action="store_true", help="time from file to first result, cold and cached")
    parser.add_argument("--memory", action="store_true", help="peak memory")
    return parser


def main(args: Sequence[str] | None = None) -> int:
    """Measure and print."""
    options = _parser().parse_args(args)
    if options.list:
        print(_listing())
        return 0
    engines = engines_named(options.engines)
    threads = [int(count) for count in options.threads.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if options.startup or options.memory:
            report = startup_report if options.startup else memory_report
            print(report([engine.name for engine in engines], threads[0], max(3, options.rounds // 2), place, _log))
            return 0
        if options.from_json:
            results = Results.from_json(options.from_json.read_text())
        else:
            wanted: list[Workload] = [
                each for each in WORKLOADS if options.workloads is None or each.name in options.workloads
            ]
            plan = Plan(wanted, engines, threads, options.rounds, options.seconds)
            results = run(plan, place, _log)
    _write(results, options)
    return 0


def _write(results: Results, options: argparse.Namespace) -> None:
    text = markdown(results, options.statistic)
    if options.markdown:
        options.markdown.write_text(text)
    else:
        print(text, end="")
    if options.json:
        options.json.write_text(results.to_json())
    if options.chart:
        options.chart.write_text(chart(results, options.statistic))


if __name__ == "__main__":
    sys.exit(main())
