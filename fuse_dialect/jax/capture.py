"""Functions of JAX as modules: what JAX lowers them to, with names of arguments and places in the Python source."""

# JAX is no dependency of the checks.
# pyright: basic, reportMissingImports=false

from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, NameLoc, StringAttr
from xdsl.ir import Attribute, Block

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.size_names import SIZES_ATTRIBUTE
from fuse_dialect.dialect.types import DYNAMIC, element_type_of, tensor
from fuse_dialect.frontends.mlir.source_map import SourceMap
from fuse_dialect.frontends.stablehlo.one_device import drop_shardings
from fuse_dialect.interpreters.entry import MODEL_NAME
from fuse_dialect.jax.library import forget_lines, library_functions
from fuse_dialect.jax.refusals import hide_own_frames, jax_refusals
from fuse_dialect.jax.signature import name_of, value_name
from fuse_dialect.loading.extra_packages import package_of_extra
from fuse_dialect.loading.failure import located_errors
from fuse_dialect.loading.module_file import module_of_text


def from_jax(function: Callable[..., Any], *examples: Any, **kwargs: Any) -> ModuleOp:
    """The StableHLO of a JAX function, as JAX prints it, with the places in the Python source.

    Args:
        function: What `jax.jit` takes or has returned, or a `jax.export.Exported`, which needs no examples.
        examples: Arguments, or `jax.ShapeDtypeStruct`s of them; trees of arrays become one argument an array, named as
            `params['w1']`, numbers of Python arrays of JAX's default types. Those that nothing reads are arguments
            too, unless `function` is from `jax.jit`, which drops them. Sizes may be symbols
            (`jax.export.symbolic_shape`): then the module is for all sizes, and `fuse.sizes` names them.
        kwargs: Arguments by name. Their arrays follow those of `examples`, in the order of the names.

    Returns:
        A verified module whose function is `main`. `fuse_dialect.run` and `compile` say it with `fuse` ops first, as
        the passes `inline` and `convert-stablehlo-to-fuse` do.

    Raises:
        FuseError: JAX is not installed, it cannot trace the function, at a line of this, or what it prints cannot be
            read.
    """
    jax = package_of_extra("jax", "jax")
    hide_own_frames()
    export = import_module("jax.export")
    if isinstance(function, export.Exported):
        return _module_of_exported(function, (*examples, *kwargs.values()))
    jitted: Any = function if hasattr(function, "lower") else jax.jit(function, keep_unused=True)
    shapes: list[Any] = [getattr(leaf, "shape", ()) for leaf in jax.tree.leaves((examples, kwargs))]
    if not any(export.is_symbolic_dim(size) for shape in shapes for size in shape):
        with jax_refusals(function):
            traced: Any = jitted.trace(*examples, **kwargs) if hasattr(jitted, "trace") else None
            lowered: Any = jitted.lower(*examples, **kwargs) if traced is None else traced.lower()
        if isinstance(lowered, ModuleOp):  # of `fuse_dialect.jit`
            return lowered
        names = set[str]() if traced is None else library_functions(traced.jaxpr)
        return module_of_lowered(lowered.as_text(debug_info=True), name_of(function), names)
    with jax_refusals(function):
        exported: Any = export.export(jitted)(*examples, **kwargs)
    module = module_of_lowered(exported.mlir_module(), name_of(function))
    _name_sizes(module, [exported.in_avals[place].shape for place in exported.module_kept_var_idx])
    return module


def module_of_lowered(text: str | bytes, name: str, library: Collection[str] = ()) -> ModuleOp:
    """The verified module of what JAX prints, with the names that JAX gives to arguments.

    Args:
        text: StableHLO with locations.
        name: Of the function, for errors.
        library: Names of functions of JAX's own, whose ops stand where they are called.

    Raises:
        FuseError: It cannot be read, or is spread over several devices.
    """
    module = module_of_text(text, name).module
    with located_errors(SourceMap(name, ""), " while shardings are read"):
        drop_shardings(module, strict=True)
    _name_arguments(main_of(module))
    forget_lines(module, set(library))
    return module


def main_of(module: ModuleOp) -> func.FuncOp:
    """The function that JAX exports."""
    return next(op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data == "main")


def _name_arguments(main: func.FuncOp) -> None:
    """Name arguments as JAX does: `params['w1']` in the model, and "params.w1" in the IR."""
    names = [argument.location for argument in main.body.block.args]
    given = [location.desc.data if isinstance(location, NameLoc) else "" for location in names]
    taken: set[str] = set()
    for argument, name in zip(main.body.block.args, given, strict=True):
        hint = value_name(name)
        if hint and hint not in taken and argument.is_valid_name(hint):
            argument.name_hint = hint
            taken.add(hint)
    _add_attributes(main, [{MODEL_NAME: StringAttr(name)} if name else {} for name in given])


def _add_attributes(main: func.FuncOp, attributes: Sequence[dict[str, Attribute]]) -> None:
    known = main.arg_attrs.data if main.arg_attrs is not None else [DictionaryAttr({})] * len(attributes)
    main.arg_attrs = ArrayAttr(
        [DictionaryAttr({**own.data, **new}) for own, new in zip(known, attributes, strict=True)]
    )


def _name_sizes(module: ModuleOp, shapes: Sequence[Sequence[Any]]) -> None:
    """Note the symbols among the sizes of the arguments of `main`; an expression, `2*b`, stays without a name."""
    attributes: list[dict[str, Attribute]] = []
    for shape in shapes:
        names = [str(size) if str(size).isidentifier() else "" for size in shape]
        attributes.append({SIZES_ATTRIBUTE: ArrayAttr([StringAttr(name) for name in names])} if any(names) else {})
    _add_attributes(main_of(module), attributes)


def _module_of_exported(exported: Any, examples: Sequence[Any]) -> ModuleOp:
    """The module of an exported function, with an argument for every array that it takes.

    Raises:
        FuseError: There are examples, it is exported for several platforms or devices, or it cannot be read.
    """
    name = exported.fun_name
    if examples:
        raise FuseError(f"'{name}' is exported already, and takes no examples", hint="from_jax(exported) is all")
    if "cpu" not in exported.platforms or len(exported.platforms) > 1:
        platforms = ", ".join(f"'{each}'" for each in exported.platforms)
        raise FuseError(f"'{name}' is exported for {platforms}", hint="jax.export.export(f, platforms=['cpu'])")
    if exported.nr_devices > 1:
        raise FuseError(f"'{name}' is exported for {exported.nr_devices} devices, and a program runs on one")
    module = module_of_lowered(exported.mlir_module(), name)
    main, kept = main_of(module), frozenset(exported.module_kept_var_idx)
    _name_sizes(module, [exported.in_avals[place].shape for place in sorted(kept)])
    if len(kept) < len(exported.in_avals):
        _take_dropped(main, exported.in_avals, kept)
    return module


def _take_dropped(main: func.FuncOp, avals: Sequence[Any], kept: frozenset[int]) -> None:
    """Give `main` arguments for the arrays that nothing reads, which JAX has dropped."""
    block: Block = main.body.block
    attributes = list(main.arg_attrs.data) if main.arg_attrs is not None else [DictionaryAttr({})] * len(kept)
    for place, aval in enumerate(avals):
        if place not in kept:
            aval = physical(aval)
            shape = [size if isinstance(size, int) else DYNAMIC for size in aval.shape]
            block.insert_arg(tensor(shape, element_type_of(aval.dtype)), place)
            attributes.insert(place, DictionaryAttr({}))
    main.arg_attrs = ArrayAttr(attributes)
    main.update_function_type()


def drop_unread(module: ModuleOp) -> list[int]:
    """Take away the arguments of `main` that nothing reads; the numbers of the others."""
    main = main_of(module)
    block = main.body.block
    kept = [place for place, argument in enumerate(block.args) if any(argument.uses)]
    if len(kept) < len(block.args):
        attributes = main.arg_attrs
        for argument in [each for each in block.args if not any(each.uses)]:
            block.erase_arg(argument)
        if attributes is not None:
            main.arg_attrs = type(attributes)([attributes.data[place] for place in kept])
        main.update_function_type()
    return kept


def physical(aval: Any) -> Any:
    """The shape and type in memory of an abstract value: those of its raw data for a typed random key."""
    jax = package_of_extra("jax", "jax")
    if not jax.dtypes.issubdtype(aval.dtype, jax.dtypes.extended):
        return aval
    core: Any = import_module("jax._src.core")
    return core.physical_aval(aval)
