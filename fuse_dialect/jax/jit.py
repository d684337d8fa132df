"""`jit`: functions of JAX compiled by this package, where `jax.jit` would be.

1. A call is looked up by the tree of its arguments, the shape, type and weakness of each array, the values and types of
   static arguments, and the settings of JAX on which lowering depends. What is found knows how to take arrays in and
   hand results out: a call costs some microseconds of Python.
2. Of a call that is new, JAX traces and lowers the function, for the processor. Arguments that nothing reads are no
   arguments of the program.
3. In a function that JAX is tracing, under `jax.grad`, `jax.vmap` or another `jit`, the function itself is called:
   JAX sees through it, and what is outermost compiles all of it. `jit(jax.grad(f))` compiles the gradient.
4. Arguments that the user calls constant, weights, are constants of the program as long as they are the same arrays
   (`weights.py`). Of a call with others they are arguments, from then on.
"""

# JAX is no dependency of the checks.
# pyright: basic, reportMissingImports=false

from collections.abc import Callable, Iterable, Sequence
from functools import update_wrapper, wraps
from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, Any, Unpack, cast

from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.api import FuseOptions, check_options
from fuse_dialect.api import compile as compile_module
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.mlir.source_map import SourceMap
from fuse_dialect.jax.bound import BoundFunction
from fuse_dialect.jax.calls import CompiledCall
from fuse_dialect.jax.capture import drop_unread, module_of_lowered
from fuse_dialect.jax.library import library_functions
from fuse_dialect.jax.refusals import check_runnable, definition_place, hide_own_frames, jax_refusals
from fuse_dialect.jax.signature import leaf_names, name_of, split, static_arguments
from fuse_dialect.jax.weights import FixedArrays, fix
from fuse_dialect.loading.extra_packages import package_of_extra
from fuse_dialect.loading.failure import located_errors
from fuse_dialect.transforms.runnable import make_runnable

if TYPE_CHECKING:
    from fuse_dialect.backends.runtime.program import Program
    from fuse_dialect.remarks.module_plan import ModulePlan


def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
    constant_argnames: str | Iterable[str] = (),
    threads: int = 1,
    cache: bool = True,
    target_cpu: str | None = None,
    fast_math: bool = False,
    **options: Unpack[FuseOptions],
) -> Any:
    """Compile a function of JAX, as `jax.jit` does, for the processor.

    It is compiled once for each tree of arguments, shapes, types, and values of static arguments. Under a
    transformation of JAX, `jax.grad`, `jax.vmap` or `jax.jit`, the function itself is traced, so gradients of what this
    returns are JAX's; `fuse_dialect.jit(jax.grad(f))` compiles a gradient.

    Args:
        function: A function of trees of arrays, typed random keys and numbers. Without it, a decorator is returned.
        static_argnums: Positions of arguments that are part of the program; they are hashable.
        static_argnames: Their names; of both one is enough.
        constant_argnames: Names of arguments that are mostly the same arrays of JAX: weights. Kernels keep them in the
            order that they read; memory holds them twice. From the first call with other arrays of the same shapes
            on, they are arguments.
        threads: Most threads that one call uses.
        cache: Keep machine code on disk, and use what is there.
        target_cpu: A processor, as for `fuse_dialect.compile`.
        fast_math: As for `fuse_dialect.compile`.
        options: Of fusion, `strategy` for one: see `FuseOptions`.

    Returns:
        A function, with the methods `lower(*args)` for the module, `plan(*args)` for what is fused, `program(*args)`
        for the compiled program, and `clear_cache()`. Results are arrays of JAX if an argument is one, else arrays of
        NumPy; typed random keys are always JAX's.

    Raises:
        FuseError: JAX is not installed, or an option is wrong. A call raises it where JAX cannot trace the function or
            an op has no kernel, with the line of the function.

    Example:
        >>> import fuse_dialect as fd
        >>> import jax.numpy as jnp                                            # doctest: +SKIP
        >>> @fd.jit                                                            # doctest: +SKIP
        ... def predict(params, x):
        ...     return jnp.tanh(x @ params["w"] + params["b"])
    """
    package_of_extra("jax", "jax")
    check_options(options)
    how = {"threads": threads, "cache": cache, "target_cpu": target_cpu, "fast_math": fast_math, **options}

    def made(function: Callable[..., Any]) -> "JittedFunction":
        if not callable(function):
            raise FuseError(f"expected a function, got {type(function).__name__}")
        return JittedFunction(function, static_argnums, static_argnames, constant_argnames, how)

    return made if function is None else made(function)


class JittedFunction:
    """A function that is compiled when it is called; `fuse_dialect.jit` makes them. Threads may call at once."""

    def __init__(
        self,
        function: Callable[..., Any],
        static_argnums: int | Iterable[int],
        static_argnames: str | Iterable[str],
        constant_argnames: str | Iterable[str],
        how: dict[str, Any],
    ):
        """Take over a function; nothing is traced yet."""
        from fuse_dialect.jax import borders

        jax = import_module("jax")
        update_wrapper(self, function)
        self._function = function
        self._name = name_of(function)
        self._how = how
        self._statics = static_arguments(function, static_argnums, static_argnames)
        self._constants = static_arguments(function, (), constant_argnames)
        self._has_statics = bool(self._statics)
        hide_own_frames()
        self._borders = borders
        self._array = borders.ArrayImpl
        self._flatten: Callable[[Any], tuple[list[Any], Any]] = jax.tree_util.default_registry.flatten
        self._settings, self._is_outside = borders.state_of_jax()
        self._entries: dict[Any, CompiledCall] = {}
        self._jitted: dict[object, Any] = {}
        """What JAX traces, by static arguments."""
        self._lock = RLock()

    def __repr__(self) -> str:
        """The function, and how many programs there are."""
        return f"<fuse_dialect.jit of '{self._name}': {len(self._entries)} programs>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """The function as a method."""
        return self if instance is None else BoundFunction(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The results for trees of arrays, as the function gives them.

        Raises:
            FuseError: See `jit`.
        """
        if not self._is_outside():
            return self._function(*args, **kwargs)
        static: object = None
        given, named = args, kwargs
        if self._has_statics:
            static, given, named = split(self._statics, args, kwargs)
        array, form_of = self._array, self._borders.form_of
        try:
            leaves, tree = self._flatten((given, named))
            forms = [leaf.aval if type(leaf) is array else form_of(leaf) for leaf in leaves]
            entry = self._entries.get((static, tree, self._settings(), *forms))
        except (TypeError, ValueError) as error:  # what is no tree, or cannot be hashed
            raise self._unusable(error, static) from None
        if entry is None:
            if any(map(self._borders.is_tracer, leaves)):
                return self._function(*args, **kwargs)
            entry = self._entry(args, kwargs)
        elif entry.fixed is not None and not entry.fixed.are_those_of(leaves):
            entry = self._entry(args, kwargs, is_other=True)
        return entry(leaves)

    def lower(self, *args: Any, **kwargs: Any) -> ModuleOp:
        """The module for such arguments, as `from_jax` gives it: StableHLO, with an argument for every leaf.

        Args:
            args: As for a call; a `jax.ShapeDtypeStruct` may stand for an array.
            kwargs: The same by name.

        Raises:
            FuseError: JAX cannot trace the function.
        """
        return self._lowered(args, kwargs)[0]

    module = lower

    def program(self, *args: Any, **kwargs: Any) -> "Program":
        """The program that a call with such arguments runs. It takes the arrays that are read.

        Args:
            args: As for a call; a `jax.ShapeDtypeStruct` may stand for an array of JAX.
            kwargs: The same by name.

        Raises:
            FuseError: As for a call.
        """
        _, given, named = split(self._statics, args, kwargs)
        given, named = self._borders.with_elements((given, named))
        found = iter(given)
        whole = [value if place in self._statics.places else next(found) for place, value in enumerate(args)]
        return self._entry(whole, {**kwargs, **named}).program

    def plan(self, *args: Any, **kwargs: Any) -> "ModulePlan":
        """What is fused for such arguments, and why the rest is not: the plan of `program`.

        Args:
            args: As for `program`.
            kwargs: As for `program`.

        Raises:
            FuseError: As for a call.
        """
        return self.program(*args, **kwargs).plan

    def clear_cache(self) -> None:
        """Forget all programs; machine code on disk stays."""
        with self._lock:
            self._entries.clear()
            for jitted in self._jitted.values():
                jitted.clear_cache()
            self._jitted.clear()

    def _unusable(self, error: Exception, static: object) -> FuseError:
        place = definition_place(self._function)
        if static is not None and "unhashable" in str(error):
            reason = str(error).removeprefix("unhashable type: ").strip("'")
            return FuseError(
                f"a static argument of '{self._name}' must be hashable, got {reason}",
                place,
                hint="a tuple instead of a list, or a frozen dataclass",
            )
        return FuseError(f"the arguments of '{self._name}' are no trees: {str(error).partition(chr(10))[0]}", place)

    def _parts(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, list[Any]]:
        """The key of a call, and its leaves.

        Raises:
            FuseError: A leaf is no array.
        """
        static, given, named = split(self._statics, args, kwargs)
        try:
            leaves, tree = self._flatten((given, named))
            key = (static if self._has_statics else None, tree, self._settings(), *self._borders.forms_of(leaves))
            hash(key)
        except (TypeError, ValueError) as error:
            raise self._unusable(error, static) from None
        names = leaf_names(self._function, self._statics, args, kwargs, self._borders.paths_of)
        try:
            for leaf, name in zip(leaves, names, strict=True):
                self._borders.check_leaf(leaf, name, self._name)
        except FuseError as error:
            error.location = definition_place(self._function)
            raise
        return key, leaves

    def _lowered(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[ModuleOp, Any, Any]:
        """The module for such arguments, what JAX has traced, and the tree of the results."""
        with jax_refusals(self._function):
            traced = self._traceable(split(self._statics, args, kwargs)[0]).trace(*args, **kwargs)
            lowered = traced.lower(lowering_platforms=("cpu",))
            text = lowered.as_text(debug_info=True)
        return module_of_lowered(text, self._name, library_functions(traced.jaxpr)), traced, lowered.out_tree

    def _traceable(self, static: object) -> Any:
        """What JAX traces: one function for each key of static arguments, as JAX takes `(2,)` for `(2.0,)`."""
        if (jitted := self._jitted.get(static)) is None:
            jax = import_module("jax")
            function = self._function

            @wraps(function)
            def traced(*args: Any, **kwargs: Any) -> Any:
                return function(*args, **kwargs)

            jitted = self._jitted[static] = jax.jit(
                traced if self._has_statics else function,
                static_argnums=tuple(sorted(self._statics.places)) or None,
                static_argnames=tuple(sorted(self._statics.names)) or None,
                keep_unused=True,
            )
        return jitted

    def _entry(self, args: Sequence[Any], kwargs: dict[str, Any], *, is_other: bool = False) -> CompiledCall:
        """What calls like this one do, compiled if nobody has called so before.

        Args:
            args: Of the call.
            kwargs: Of the call.
            is_other: Whether what was constant so far is not: then nothing is from here on.
        """
        key, leaves = self._parts(args, kwargs)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or (is_other and entry.fixed is not None):
                entry = self._entries[key] = self._made(args, kwargs, leaves, may_fix=not is_other)
        return entry

    def _fixed(
        self, module: ModuleOp, args: Sequence[Any], kwargs: dict[str, Any], leaves: Sequence[Any]
    ) -> FixedArrays | None:
        """The constants that a module has for arguments that are called constant."""
        chosen: list[bool] = []
        for place, value in enumerate(args):
            if place not in self._statics.places:
                chosen += [place in self._constants.places] * len(self._flatten(value)[0])
        for name in sorted(kwargs):
            if name not in self._statics.names:
                chosen += [name in self._constants.names] * len(self._flatten(kwargs[name])[0])
        array, data, is_complex = self._array, self._borders.KeyArray, self._borders.is_complex
        places = [
            place
            for place, leaf in enumerate(leaves)
            if chosen[place] and isinstance(leaf, array | data) and not is_complex(leaf)
        ]
        arrays = {place: self._borders.taker(leaves[place], leaves[place].aval)(leaves[place]) for place in places}
        return fix(module, leaves, arrays) if arrays else None

    def _made(
        self, args: Sequence[Any], kwargs: dict[str, Any], leaves: Sequence[Any], *, may_fix: bool
    ) -> CompiledCall:
        module, traced, tree = self._lowered(args, kwargs)
        inputs, outputs = traced.jaxpr.in_avals, traced.jaxpr.out_avals
        is_fixing = may_fix and bool(self._constants)
        fixed = self._fixed(module, args, kwargs, leaves) if is_fixing else None
        kept = drop_unread(module)
        with located_errors(SourceMap(self._name, ""), " while StableHLO is converted"):
            make_runnable(module)
        check_runnable(module, self._function)
        program = compile_module(module, **cast(Any, self._how))
        as_jax = any(isinstance(leaf, self._array | self._borders.KeyArray) for leaf in leaves)
        readers = [self._borders.reader(leaves[place], inputs[place]) for place in kept]
        readable = [each for each in readers if each is not None]
        return CompiledCall(
            program,
            None if len(kept) == len(leaves) else tuple(kept),
            [self._borders.taker(leaves[place], inputs[place]) for place in kept],
            [self._borders.giver(aval, as_jax=as_jax) for aval in outputs],
            tree,
            program.by_addresses() if len(readable) == len(readers) else None,
            readable,
            self._borders.read_all if all(map(self._borders.is_plain, readers)) else None,
            fixed,
        )
