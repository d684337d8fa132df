"""How many kernels and library calls torch's Inductor makes of members of the population, for the table of strategies.

    python tools/count_inductor_kernels.py bert gpt2 llama resnet50 --json counts.json
    python tools/bench_strategies.py bert.onnx ... --counts counts.json

Needs the extra `bench` and a C++ compiler. Counted are the calls in the code that Inductor writes for a processor: of
kernels that it has written, and of its libraries for products and convolutions. A kernel may hold several loop nests.
"""

# torch is no dependency of the checks: it is not installed there, and says little about its types.
# pyright: basic, reportMissingImports=false

import argparse
import json
import re
import sys
from pathlib import Path

_KERNEL = re.compile(r"^\s+cpp_fused\w*\(", re.MULTILINE)
_CALL = re.compile(r"^\s+(?:\w+ = )?(?:extern_kernels\.\w+|torch\.ops\.\w+\.[\w.]+)\(", re.MULTILINE)


def main() -> int:
    """Compile and count."""
    parser = argparse.ArgumentParser(description="Kernels and library calls of torch's Inductor.")
    parser.add_argument("members", nargs="+", help="names of the population")
    parser.add_argument("--json", type=Path, help="file for the counts; by default they are printed alone")
    options = parser.parse_args()
    counts: dict[str, list[int]] = {}
    for name in options.members:
        counts[name] = counts_of(name)
        print(f"{name}: {counts[name][0]} kernels, {counts[name][1]} library calls", flush=True)
        if options.json is not None:
            options.json.write_text(json.dumps(counts))
    return 0


def counts_of(name: str) -> list[int]:
    """Calls of generated kernels and of libraries in the code for a member, run once."""
    import population.images
    import population.text  # noqa: F401
    import torch
    from population.member import MEMBERS
    from torch._inductor.utils import run_and_get_code

    member = MEMBERS[name]
    compiled, inputs = torch.compile(member.build().eval()), member.inputs()
    with torch.no_grad():
        _, codes = run_and_get_code(lambda: compiled(**inputs))
    code = "\n".join(codes)
    return [len(_KERNEL.findall(code)), len(_CALL.findall(code))]


if __name__ == "__main__":
    sys.exit(main())
