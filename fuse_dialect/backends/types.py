"""What is known of a tensor of a program, without the IR that said it."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

Shape: TypeAlias = tuple[int, ...]
OPEN = -(1 << 63)
"""A size that is known when the tensor is; `fuse_dialect.dialect.types.DYNAMIC` for those who import no IR."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """What is known of a tensor before the first call."""

    shape: Shape
    """Sizes; `OPEN` for one that is known when the tensor is."""
    dtype: "np.dtype[np.generic]"

    @property
    def is_static(self) -> bool:
        """Whether all sizes are known."""
        return OPEN not in self.shape


STOP = -(1 << 63)
"""What ends a run of kernels: a loop has run too often, or a kernel has found a fault."""
