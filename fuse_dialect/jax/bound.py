"""Jitted functions as methods of objects."""

from functools import update_wrapper
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from fuse_dialect.backends.runtime.program import Program
    from fuse_dialect.remarks.module_plan import ModulePlan


class BoundFunction:
    """A jitted function whose first argument is the object that it is a method of."""

    def __init__(self, jitted: Any, instance: Any):
        """Bind the first argument of a `JittedFunction`."""
        update_wrapper(self, jitted)
        self._jitted = jitted
        self.__self__ = instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """See `JittedFunction`."""
        return self._jitted(self.__self__, *args, **kwargs)

    def lower(self, *args: Any, **kwargs: Any) -> "ModuleOp":
        """See `JittedFunction`."""
        return self._jitted.lower(self.__self__, *args, **kwargs)

    module = lower

    def program(self, *args: Any, **kwargs: Any) -> "Program":
        """See `JittedFunction`."""
        return self._jitted.program(self.__self__, *args, **kwargs)

    def plan(self, *args: Any, **kwargs: Any) -> "ModulePlan":
        """See `JittedFunction`."""
        return self._jitted.plan(self.__self__, *args, **kwargs)

    def clear_cache(self) -> None:
        """See `JittedFunction`."""
        self._jitted.clear_cache()
