"""Networks of PyTorch as modules, captured by PyTorch itself, which an extra brings."""

import io
import math
import os
import tempfile
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.frontends.torch_exports import (
    LostStateWarning,
    decides_by_elements,
    export_error,
    lost_attributes,
    lost_state,
    norms_in_training,
    root_cause,
)
from fuse_dialect.loading.extra_packages import package_of_extra
from fuse_dialect.pytorch.translations import translations

_NO_ONNX = "ConversionError"
"""What PyTorch raises where it exports a network, and has no ONNX for one of its operators."""
_OWN_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")


def from_torch(
    module: Any, *examples: Any, kwargs: Mapping[str, Any] | None = None, dynamic_shapes: Any = None
) -> ModuleOp:
    """The module of a PyTorch network, by way of `torch.export` and ONNX.

    What PyTorch exports but does not write as ONNX, such as complex numbers and linear algebra, or writes wrongly, is
    read as operators of ATen, for the sizes of the examples; complex tensors are pairs of their parts, along a last
    axis of 2.

    Args:
        module: A `torch.nn.Module`, exported as it behaves in evaluation, or a `torch.export.ExportedProgram`.
        examples: Arguments, tensors mostly; those that are numbers, booleans or `None` become part of the program, and
            trees of tensors one argument a tensor.
        kwargs: Arguments by name.
        dynamic_shapes: Axes whose sizes are open, as `torch.onnx.export` takes them: for each argument a dictionary of
            names by axis, as in `({0: "batch", 1: "sequence"},)` or `{"x": {0: "batch"}}`, or by `torch.export.Dim`.

    Returns:
        A verified module of `fuse` ops whose function is `main`. Its results are the tensors that the network gives, in
        the order of PyTorch's trees; those of a dictionary are named by their keys.

    Warns:
        LostStateWarning: The network updates a buffer or changes an input in place, which the program does not, or a
            normalization is in training, which the program takes as in evaluation.

    Raises:
        FuseError: PyTorch is not installed, it cannot export the network, the network fixes a size that is to be open,
            or an operator of the exported model is not supported.
    """
    torch, *_ = [package_of_extra(name, "torch") for name in ("torch", "onnx", "onnxscript")]
    is_network = isinstance(module, torch.nn.Module)
    if not is_network and not isinstance(module, torch.export.ExportedProgram):
        raise FuseError(
            f"expects a torch.nn.Module or a torch.export.ExportedProgram, got '{type(module).__name__}'",
            hint="put a function into the 'forward' of a Module of your own",
        )
    name = type(module).__name__
    told = norms_in_training(module, torch.nn.modules.batchnorm._NormBase) if is_network else []
    is_static = dynamic_shapes is None
    with _in_evaluation(module if is_network else None), _errors_of_exports(torch, name):
        program, said = _onnx_program(torch, module, examples, kwargs, dynamic_shapes)

    def by_aten() -> "tuple[ModuleOp, Any]":
        from fuse_dialect.pytorch.exported import in_core_aten

        network = module if is_network else None
        with _in_evaluation(network), _errors_of_exports(torch, name), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of PyTorch's own matters; the first export has told the others
            exported = torch.export.export(module, examples, dict(kwargs or {})) if is_network else module
            exported = in_core_aten(exported)
        return _read_by_aten(exported), exported

    try:
        wrong = None if program is None else _miswritten(program.exported_program)
        if wrong is not None and not is_static:
            raise FuseError(
                f"PyTorch writes {wrong} as ONNX of another meaning",
                hint="leave 'dynamic_shapes' out, or divide the sums by the counts",
            )
        if program is None or wrong is not None:
            made, exported = by_aten()
        elif is_static and _has_doubles(program.exported_program) and (found := _unless_refused(by_aten)):
            made, exported = found
        else:
            exported = program.exported_program
            try:
                made = _read_by_onnx(program, name, dynamic_shapes)
            except FuseError:
                # PyTorch writes nodes that ONNX does not allow, of operands of two types for example.
                if not is_static or (found := _unless_refused(by_aten)) is None:
                    raise
                made, exported = found
    except FuseError as error:
        error.location = SourceLocation(name)  # a file of ONNX is gone when somebody reads this
        raise
    told += [*lost_state(exported, name), *lost_attributes(said, name)]
    for text in told:
        warnings.warn(text, LostStateWarning, stacklevel=2)
    return made


def _unless_refused(read: "Callable[[], tuple[ModuleOp, Any]]") -> "tuple[ModuleOp, Any] | None":
    """What a function reads; `None` for what it refuses."""
    try:
        return read()
    except FuseError:
        return None


def _miswritten(exported: Any) -> str | None:
    """What PyTorch writes as ONNX of another meaning: what is scattered or pooled, and divided; `None` if nothing."""
    for node in exported.graph.nodes:
        target, given = str(node.target), (*node.args, *node.kwargs.values())
        if target == "aten.scatter_reduce.two" and "mean" in given:
            return "'scatter_reduce' with 'mean'"
        if target == "aten.avg_pool2d.default" and (len(node.args) > 6 or "divisor_override" in node.kwargs):
            return "'avg_pool2d' with 'divisor_override'"
    return None


def _has_doubles(exported: Any) -> bool:
    """Whether something is computed in f64: PyTorch writes numbers beside it, as in `x * 0.1`, rounded to f32."""
    return any(
        getattr(getattr(node.meta.get("val"), "dtype", None), "itemsize", 0) == 8
        and node.meta["val"].is_floating_point()
        for node in exported.graph.nodes
    )


def _read_by_onnx(program: Any, name: str, dynamic_shapes: Any) -> ModuleOp:
    from fuse_dialect.loading.module_file import read_module

    _check_open_sizes(program.model, dynamic_shapes)
    _name_results(program)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.onnx"
        program.save(str(path))
        return read_module(str(path)).module


def _read_by_aten(exported: Any) -> ModuleOp:
    from fuse_dialect.pytorch.exported import module_of_export

    return module_of_export(exported, _names_by_keys(exported.call_spec.out_spec))


@contextmanager
def _errors_of_exports(torch: Any, name: str) -> Generator[None]:
    """Say in a few lines why PyTorch exports no program."""
    try:
        yield
    except Exception as error:
        # Whatever the network raises when it is run on the examples comes through, too.
        folders = (_OWN_FOLDER, os.path.join(os.path.dirname(torch.__file__), ""))
        cause = root_cause(error)
        # What says it all has no need of PyTorch's stack above it.
        raise export_error(cause, name, folders) from (None if decides_by_elements(cause) else cause)


def _onnx_program(
    torch: Any, module: Any, examples: Any, kwargs: Any, dynamic_shapes: Any
) -> "tuple[Any | None, Sequence[str]]":
    """What PyTorch exports, and its warnings; most are, like what it prints, about its own matters.

    `None` stands for a network of static sizes that PyTorch exports, but not as ONNX.
    """
    with (
        warnings.catch_warnings(record=True) as said,
        redirect_stdout(io.StringIO()),
        redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("always")
        try:
            program = torch.onnx.export(
                module,
                examples,
                kwargs=kwargs,
                dynamic_shapes=dynamic_shapes,
                dynamo=True,
                verbose=False,
                optimize=False,
                custom_translation_table=dict(translations(torch)),
            )
            if not _drops_numbers(program.model):
                program.optimize()
        except Exception as error:
            if type(error).__name__ != _NO_ONNX or dynamic_shapes is not None:
                raise
            program = None
    return program, [str(each.message) for each in said]


def _drops_numbers(model: Any) -> bool:
    """Whether PyTorch's optimizer would take a number for 0 or 1 that is near it, as in `log(x + 1e-10)`.

    Its rules match a scalar by `isclose` of Python with these tolerances, and drop what is added or multiplied by.
    Source: onnxscript, rewriter/_pattern_ir.py, Constant, and rewriter/rules/common/_no_op.py.
    """
    nodes = [*model.graph.all_nodes(), *(node for each in model.functions.values() for node in each.all_nodes())]
    values = [value for node in nodes for value in (*node.inputs, *node.outputs) if value is not None]
    for value in dict.fromkeys(values):
        tensor: Any = import_module("onnx_ir").convenience.get_const_tensor(value)
        if tensor is None or tensor.shape.rank() or not tensor.dtype.is_floating_point():
            continue
        number = float(tensor.numpy())
        if number not in (0, 1) and (abs(number) <= 1e-8 or math.isclose(number, 1, rel_tol=1e-5)):
            return True
    return False


def _check_open_sizes(model: Any, dynamic_shapes: Any) -> None:
    """See that every size that was to be open is: PyTorch may fix one without a word.

    Raises:
        FuseError: One is not.
    """
    found = {str(size) for value in model.graph.inputs for size in value.shape or ()}
    pending, missing = [dynamic_shapes], list[str]()
    while pending:
        entry = pending.pop()
        if isinstance(entry, Mapping):
            pending.extend(cast("Mapping[Any, Any]", entry).values())
        elif isinstance(entry, list | tuple):
            pending.extend(cast("Sequence[Any]", entry))
        else:  # a name, a named Dim, a formula of Dims, or a number or a mark without a name
            name = entry if isinstance(entry, str) else str(getattr(entry, "__name__", ""))
            if name.isidentifier() and name not in found:
                missing.append(name)
    if missing:
        names = ", ".join(f"'{name}'" for name in sorted(set(missing)))
        raise FuseError(
            f"the network fixes sizes that 'dynamic_shapes' leaves open: {names}",
            hint="leave them out of 'dynamic_shapes', or name them by text where they are torch.export.Dims",
        )


def _name_results(program: Any) -> None:
    """Name the outputs that come from dictionaries by their keys, unless that is the name of another value."""
    outputs: Any = program.model.graph.outputs
    names = _names_by_keys(program.exported_program.call_spec.out_spec)
    if len(names) != len(outputs):
        return  # a result that is no tensor is no output
    taken = {value.name for node in program.model.graph for value in node.outputs}
    taken |= {value.name for value in (*program.model.graph.inputs, *program.model.graph.initializers.values())}
    named: set[str] = set()
    for name, output in zip(names, outputs, strict=True):
        # One tensor may stand in two places; the first one names it.
        if name and name not in taken and output.name not in named:
            output.name = name
            named.add(name)
            taken.add(name)


def _names_by_keys(spec: Any) -> list[str]:
    """A name for each leaf of a tree of results: the keys that lead to it; empty without a dictionary on the way."""
    trees = import_module("torch.utils._pytree")
    places, _ = trees.tree_flatten_with_path(trees.tree_unflatten(list(range(spec.num_leaves)), spec))
    return [
        ".".join(str(getattr(step, "key", getattr(step, "idx", getattr(step, "name", "")))) for step in path)
        if any(hasattr(step, "key") for step in path)
        else ""
        for path, _ in places
    ]


@contextmanager
def _in_evaluation(module: Any | None) -> Generator[None]:
    """Let the module be in evaluation mode, and every part of it afterwards in the mode that it was in."""
    parts: list[Any] = [] if module is None else list(module.modules())
    modes = [part.training for part in parts]
    if module is not None:
        module.eval()
    try:
        yield
    finally:
        for part, mode in zip(parts, modes, strict=True):
            part.training = mode
