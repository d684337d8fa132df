"""PyTorch's own samples of its operators, read as ATen graphs and compared with what PyTorch computes.

    python tools/run_torch_samples.py [NAME ...] [--dtypes float32 bfloat16 int64] [--most 20] [--native] [--list]

`op_db` of `torch.testing` has, for each operator, inputs that its maintainers found worth testing. Each sample is
traced, written in core ATen operators, read, and run on NumPy (`--native`: compiled). It is

- right: equal to PyTorch within the tolerances that `torch.testing.assert_close` has for the type, narrow floats within
  1.6 % of the greatest element; for some, equal to the graph as PyTorch itself runs it, where the operator in one piece
  rounds less often; for some, about as far from the results in 64 bits as PyTorch's own. Of equal elements `topk` may
  take any, and `sort` that is not stable any order, too: indices are not compared;
- refused: an operator, or the way it is called, has no rule; or PyTorch itself refuses to trace it;
- wrong: anything else.

Needs `pip install torch expecttest`. Exit code: 1 if a sample is wrong.
"""

# torch is no dependency of the checks: it is not installed there, and says little about its types.
# pyright: basic, reportMissingImports=false

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

AS_WRITTEN = "as the graph of PyTorch, whose operators round between them"
"""Said of a sample that equals the graph of core operators, and not the operator in one piece."""
AS_EXACT = "about as far from the results in 64 bits as PyTorch's, whose sums have another order"
"""Said of a sample whose results differ where large terms cancel."""
WITHOUT_CONTENT = ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided")
"""Operators whose results nothing defines."""
MORE_ERROR = 4.0
"""How much further from the results in 64 bits ours may be: the greatest difference over PyTorch's."""
MOST_ELEMENTS = 1 << 16
"""Larger samples are left out: NumPy would take long."""


def traced(call: Any, tensors: list[Any]) -> Any:
    """The graph of core ATen operators that computes `call` of tensors.

    Raises:
        Exception: PyTorch cannot trace it; there is no common class for that.
    """
    import torch
    from torch._functorch.aot_autograd import aot_export_joint_simple  # noqa: F401  # registers decompositions
    from torch.fx.experimental.proxy_tensor import make_fx

    from fuse_dialect.pytorch.backend import decompositions

    with torch.no_grad():
        functional = torch.func.functionalize(call, remove="mutations_and_views")
        return make_fx(functional, decomposition_table=decompositions(), tracing_mode="fake")(*tensors)


def verdict(op: Any, sample: Any, *, native: bool) -> tuple[str, str]:
    """`right`, `refused` or `wrong`, and why."""
    import torch
    from torch.utils._pytree import tree_flatten, tree_unflatten

    import fuse_dialect as fd
    from fuse_dialect.frontends.aten.reader import module_of
    from fuse_dialect.pytorch.backend import Readable
    from fuse_dialect.pytorch.graphs import array_of, aten_graph, is_call, is_read, tensor_of

    leaves, tree = tree_flatten(((sample.input, *sample.args), sample.kwargs))
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    tensors = [leaves[place].detach() for place in places]
    if any(tensor.numel() > MOST_ELEMENTS for tensor in tensors):
        return "refused", "a large sample"

    def call(*given: Any) -> Any:
        own = list(leaves)
        for place, tensor in zip(places, given, strict=True):
            own[place] = tensor
        args, kwargs = tree_unflatten(own, tree)
        found = [each for each in tree_flatten(op(*args, **kwargs))[0] if isinstance(each, torch.Tensor)]
        return tuple(found)

    try:
        expected = call(*tensors)
        graph_module = traced(call, tensors)
    except Exception as error:
        return "refused", f"PyTorch: {type(error).__name__}: {str(error).splitlines()[0][:90]}"
    readable = Readable(graph_module)
    calls = [node for node in graph_module.graph.nodes if is_call(node) and is_read(node)]
    left = [f"{node.target}: {readable.reasons[node.name]}" for node in calls if node.name in readable.reasons]
    if left:
        return "refused", left[0]
    if not calls:
        return "refused", "nothing is computed"
    graph = aten_graph(graph_module)
    names = [name for name, _ in graph.inputs]
    if len(names) != len(tensors):
        return "refused", "an input of another type"
    module = module_of(graph)
    arrays = [array_of(tensor) for tensor in tensors]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = fd.compile(module, cache=False)(*arrays) if native else fd.run(module, *arrays)
    if op.name == "topk" or (op.name in ("sort", "argsort") and not sample.kwargs.get("stable")):
        kept = int(op.name != "argsort")
        results, expected = results[:kept], expected[:kept]
    ours = [tensor_of(result.copy(), each.dtype, each.stride()) for result, each in zip(results, expected, strict=True)]
    problem = difference(ours, expected)
    if problem and not difference(ours, graph_module(*tensors)):
        return "right", AS_WRITTEN
    if problem and is_as_exact(ours, expected, call, tensors):
        return "right", AS_EXACT
    return ("wrong", problem) if problem else ("right", "")


def is_as_exact(ours: Sequence[Any], theirs: Sequence[Any], call: Any, tensors: Sequence[Any]) -> bool:
    """Whether results of floats are about as far from those of 64 bits as PyTorch's are."""
    import torch

    if not all(each.dtype.is_floating_point for each in (*ours, *theirs)):
        return False
    try:
        exact = call(*[each.double() if each.dtype.is_floating_point else each for each in tensors])
    except Exception:  # an argument that says the type
        return False
    for one, other, wanted in zip(ours, theirs, exact, strict=True):
        if wanted.dtype != torch.float64 or one.shape != wanted.shape or not wanted.numel():
            return False
        own, their = ((each.double() - wanted).abs().max() for each in (one, other))
        if not bool(own <= MORE_ERROR * their):
            return False
    return True


def difference(ours: Sequence[Any], theirs: Sequence[Any]) -> str:
    """How results differ; empty if they do not."""
    import torch

    for one, other in zip(ours, theirs, strict=True):
        how: dict[str, Any] = {}
        if one.dtype in (torch.bfloat16, torch.float16) and other.numel():
            # A bias that nearly cancels a product leaves what was rounded before: the greatest element is the measure.
            finite = other.double().nan_to_num(posinf=0, neginf=0).abs()
            how = {"rtol": 1.6e-2, "atol": max(1e-5, 1.6e-2 * float(finite.max()))}
        try:
            torch.testing.assert_close(one, other, equal_nan=True, check_stride=False, **how)
        except AssertionError as error:
            return str(error).replace("\n", " ")[:160]
    return ""


def main() -> int:
    """Run samples; 1 if one is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="operators as `op_db` names them (default: all)")
    parser.add_argument("--dtypes", nargs="*", default=["float32", "bfloat16", "int64"], help="element types")
    parser.add_argument("--most", type=int, default=20, help="samples of an operator and type (default: %(default)s)")
    parser.add_argument("--native", action="store_true", help="compile each, instead of interpreting it")
    parser.add_argument("--list", action="store_true", help="print a line for each operator and type")
    args = parser.parse_args()
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    warnings.simplefilter("ignore")
    counts, causes, operators = Counter[str](), Counter[str](), Counter[str]()
    for op in op_db:
        if (args.names and op.name not in args.names) or op.name in WITHOUT_CONTENT:
            continue
        for name in args.dtypes:
            dtype = getattr(torch, name)
            if dtype not in op.dtypes or op.name.startswith("sparse."):
                continue
            torch.manual_seed(0)
            own = Counter[str]()
            try:
                samples = [sample for sample, _ in zip(op.sample_inputs("cpu", dtype), range(args.most), strict=False)]
            except Exception as error:
                causes[f"no samples: {type(error).__name__}"] += 1
                continue
            for sample in samples:
                try:
                    found, why = verdict(op, sample, native=args.native)
                except Exception as error:
                    found, why = "wrong", f"{type(error).__name__}: {str(error)[:150]}"
                own[found] += 1
                own[why] += why in (AS_WRITTEN, AS_EXACT)
                if found == "wrong":
                    print(f"wrong: {op.name} {op.variant_test_name} {name}: {why}", flush=True)
                elif found == "refused":
                    causes[why] += 1
            counts += own
            operators["with a right sample"] += bool(own["right"])
            operators["all"] += 1
            if args.list:
                print(f"{op.name} {op.variant_test_name} {name}: {dict(own)}", flush=True)
    print("refused, the most frequent causes:")
    for cause, count in causes.most_common(30):
        print(f"{count:6} {cause}")
    print(f"operators and types: {operators['all']}, {operators['with a right sample']} with a right sample")
    print(f"samples: {counts['right']} right, {counts['refused']} refused, {counts['wrong']} wrong")
    for how in (AS_WRITTEN, AS_EXACT):
        print(f"{counts[how]} of those that are right are {how}")
    return int(counts["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
