"""All the way: a template, a code generator, a simulator with cycles, and ResNet-18 in 8 bits.

python docs/examples/accelerator_package/run.py
"""

from pathlib import Path

import numpy as np
from resnet18 import resnet18
from vm import Machine, generate

import fuse_dialect as fd

TEMPLATE = str(Path(__file__).with_name("vm.mlir"))


def main() -> None:
    """Compile, run by the meaning and on the machine, and compare."""
    module = fd.fuse_ops_hw(resnet18(), template=TEMPLATE, objective="cycles")
    programs = fd.for_each_trip(module, generate)
    machine = Machine(programs)
    image = np.random.default_rng(1).integers(-128, 128, (1, 3, 64, 64)).astype(np.int8)
    (expected,) = fd.run(module, image)
    (result,) = fd.run(module, image, trips=machine)
    estimate = fd.hardware_report(module, template=TEMPLATE)
    print(f"{machine.trips} trips, {sum(map(len, programs.values()))} instructions")
    print(f"results are {'equal' if np.array_equal(result, expected) else 'different'}")
    more = 100 * (machine.cycles / estimate.cycles - 1)
    print(f"{machine.cycles} cycles, {estimate.cycles:.0f} estimated: {more:+.1f} %")


if __name__ == "__main__":
    main()
