"""`onnx_ir` without `sympy`, which takes longer to import than all of `onnx_ir`, and serves symbolic sizes alone.

While `onnx_ir` is imported, a stand-in takes the place of `sympy`. What is taken from it then is a function that
imports `sympy` when it is called; afterwards the stand-in has the attributes of `sympy`. `sys.modules` ends as it was.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class _Later(ModuleType):
    """A module that is imported when it is needed."""

    is_stand_in = True
    """Whether somebody else is being imported, so that nothing is needed yet."""

    def __getattr__(self, attribute: str) -> Any:
        if not self.is_stand_in:
            return getattr(import_module(self.__name__), attribute)
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return self._function(attribute)

    def _function(self, attribute: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            return getattr(import_module(self.__name__), attribute)(*arguments)

        return call


def import_without(name: str, heavy: str) -> None:
    """Import a package if it is installed, and not another one that it imports.

    Args:
        name: The package. If it uses the other one in more than functions, both are imported.
        heavy: The other package.
    """
    if name in sys.modules or heavy in sys.modules or find_spec(name) is None:
        return
    later = _Later(heavy)
    sys.modules[heavy] = later
    try:
        import_module(name)
    except Exception:
        # A later release may need it at once. The import starts anew, and tells by itself what is wrong.
        for module in [each for each in sys.modules if each.partition(".")[0] == name]:
            del sys.modules[module]
    finally:
        later.is_stand_in = False
        if sys.modules.get(heavy) is later:
            del sys.modules[heavy]
