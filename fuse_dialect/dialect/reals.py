"""Arithmetic in f64 of which a part is known: what is known is computed at once, the rest is scalar code.

So one formula serves sizes that are numbers and sizes that are known when a kernel is called.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import add, eq, le, mul, sub

from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from fuse_dialect.dialect import scalars


@dataclass(frozen=True, slots=True)
class Real:
    """A number in f64, known or computed by scalar code."""

    value: float | SSAValue

    def __add__(self, other: "Real | float") -> "Real":
        return self._with(other, add, scalars.add)

    def __sub__(self, other: "Real | float") -> "Real":
        return self._with(other, sub, scalars.subtract)

    def __mul__(self, other: "Real | float") -> "Real":
        return self._with(other, mul, scalars.multiply)

    def __truediv__(self, other: "Real | float") -> "Real":
        return self._with(other, float.__truediv__, scalars.divide)

    @property
    def code(self) -> SSAValue:
        """The number as scalar code."""
        return self.value if isinstance(self.value, SSAValue) else scalars.constant(self.value, f64)

    def choose(self, predicate: str, limit: float, then: "Real", otherwise: Callable[[], "Real"]) -> "Real":
        """One number where this one is `equal` or `less_equal` to a limit, else another one, made if it may count."""
        if not isinstance(self.value, SSAValue):
            holds = {"equal": eq, "less_equal": le}[predicate](self.value, limit)
            return then if holds else otherwise()
        other = otherwise()
        return Real(scalars.select(scalars.compare(predicate, self.code, Real(limit).code), then.code, other.code))

    def _with(
        self,
        other: "Real | float",
        known: Callable[[float, float], float],
        code: Callable[[SSAValue, SSAValue], SSAValue],
    ) -> "Real":
        right = other if isinstance(other, Real) else Real(float(other))
        if isinstance(self.value, SSAValue) or isinstance(right.value, SSAValue):
            return Real(code(self.code, right.code))
        return Real(known(self.value, right.value))
