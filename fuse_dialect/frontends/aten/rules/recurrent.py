"""Recurrent layers that PyTorch keeps whole: one `fuse.loop` over the sequence.

What does not depend on the state is computed for the whole sequence at once.

Source: aten/src/ATen/native/mkldnn/RNN.cpp of PyTorch 2.14, and its meaning in torch/_decomp/decompositions.py.
"""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Block, SSAValue

from fuse_dialect.dialect.building import building
from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops.activation import SigmoidOp
from fuse_dialect.dialect.ops.concatenation import SplitOp
from fuse_dialect.dialect.ops.layout import ReverseOp
from fuse_dialect.dialect.ops.matmul import DenseOp
from fuse_dialect.dialect.ops.regions import LoopOp, YieldOp, row_type
from fuse_dialect.dialect.ops.trigonometry import TanhOp
from fuse_dialect.dialect.types import tensor
from fuse_dialect.frontends.aten.rules.table import RULES, Want, as_type, made
from fuse_dialect.frontends.fuse_values import NoFuseFormError, reshape, shape

_LSTM = 2
"""The number of the kind of layer."""


@RULES.of("aten.mkldnn_rnn_layer.default")
def lstm_layer(
    want: Want,
    input: SSAValue,
    weight0: SSAValue,
    weight1: SSAValue,
    weight2: SSAValue,
    weight3: SSAValue,
    hx_: SSAValue,
    cx_: SSAValue,
    reverse: bool,
    batch_sizes: Sequence[int],
    mode: int,
    hidden_size: int,
    num_layers: int,
    has_biases: bool,
    bidirectional: bool,
    batch_first: bool,
    train: bool,
) -> list[SSAValue]:
    """One layer of an LSTM in one direction: the states of all steps, and the last state and memory.

    A backward layer begins with the last row of the input. Floats of 16 bits are rounded once, behind the layer.
    """
    if mode != _LSTM or num_layers != 1 or batch_sizes or bidirectional or batch_first or train:
        raise NoFuseFormError("a recurrent layer that is no LSTM of one direction, or is trained")
    wide = np.dtype(np.float32) if want.dtype.itemsize == 2 else want.dtype
    rows, outer, inner, state, memory = (as_type(each, wide) for each in (input, weight0, weight1, hx_, cx_))
    products = made(DenseOp(rows, outer))
    if has_biases:
        bias = made(b.AddOp(*(as_type(each, wide) for each in (weight2, weight3))))
        products = made(b.BiasAddOp(products, bias, axis=2))
    states = [reshape(each, shape(each)[-2:]) for each in (state, memory)]
    turned = made(ReverseOp(products, axes=[0])) if reverse else products
    loop = LoopOp(_steps(inner, states, turned), states=states, rows=[turned])
    last, last_memory, stacked = loop.results
    every = made(ReverseOp(stacked, axes=[0])) if reverse else stacked
    return [every, reshape(last, shape(state)), reshape(last_memory, shape(memory))]


def _steps(inner: SSAValue, states: Sequence[SSAValue], products: SSAValue) -> Block:
    """The body of the loop: the gates are input, forget, candidate and output."""
    body = Block(arg_types=[tensor((), i64), *(each.type for each in states), row_type(products)])
    _, state, memory, product = body.args
    with building(body):
        sums = made(b.AddOp(product, made(DenseOp(state, inner))))
        into, forget, candidate, out = SplitOp(sums, axis=1, sizes=[shape(state)[1]] * 4).results
        kept = made(b.MultiplyOp(made(SigmoidOp(forget)), memory))
        added = made(b.MultiplyOp(made(SigmoidOp(into)), made(TanhOp(candidate))))
        following = made(b.AddOp(kept, added))
        shown = made(b.MultiplyOp(made(SigmoidOp(out)), made(TanhOp(following))))
        YieldOp(shown, following, shown)
    return body
