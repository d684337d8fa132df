"""ONNX LSTM, GRU and RNN: one `fuse.loop` over the sequence for each direction.

1. What does not depend on the state is computed for the whole sequence at once: the product of all inputs with W.
2. The body of the loop holds the product of the state with R, and the gates; it fuses there as any block does.
3. A backward direction runs on the reversed sequence. Sequences of different lengths are reversed by their lengths, and
   a state stays as it is beyond the end of its sequence. So the last state of a sequence without elements is the
   initial one: ONNX says nothing of it, its reference evaluator ignores lengths; onnxruntime gives 0.

Source: ONNX LSTM, GRU and RNN (opset 22), "Equations".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.activation import ClipOp
from fuse_dialect.dialect.ops.broadcast import AddOp, BiasAddOp, MultiplyOp, SubtractOp, WhereOp
from fuse_dialect.dialect.ops.comparison import LessOp
from fuse_dialect.dialect.ops.concatenation import SplitOp, StackOp
from fuse_dialect.dialect.ops.dynamic import DynFullOp
from fuse_dialect.dialect.ops.indexing import TakeOp
from fuse_dialect.dialect.ops.layout import ReverseOp
from fuse_dialect.dialect.ops.matmul import DenseOp
from fuse_dialect.dialect.ops.sequences import ReverseSequenceOp
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.frontends.onnx.loops import emit_loop
from fuse_dialect.frontends.onnx.node import OnnxNode
from fuse_dialect.frontends.onnx.operators.arithmetic import cast_to
from fuse_dialect.frontends.onnx.operators.layout import expand_dims, reshape, transpose
from fuse_dialect.frontends.onnx.operators.recurrent_activations import Activation, activations_of
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.values import Constant, Value, size_vector

OPERATORS = OperatorTable()

_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
"""For each word, which directions there are, and whether each runs backward."""


@dataclass(frozen=True, slots=True)
class _Cell:
    """The weights and functions of one direction."""

    hidden: int
    recurrence: Value
    """R: [gates * hidden, hidden]."""
    recurrence_bias: Value | None
    """Rb: [gates * hidden]."""
    peepholes: tuple[Value, ...]
    """P of input, output and forget gate, [hidden] each; none, if left out."""
    functions: tuple[Activation, ...]
    clip: float


_Step: TypeAlias = Callable[[OnnxNode, _Cell, Value, Sequence[Value]], list[Value]]
"""From the products of the inputs with W, [batch, gates * hidden], and the states to the next states."""


@OPERATORS.operator("RNN")
def import_rnn(node: OnnxNode) -> Sequence[Value]:
    """H = f(x * W + h * R + b)."""
    return _recurrence(node, _rnn_step, gates=1, states=1, defaults=("Tanh",))


@OPERATORS.operator("GRU")
def import_gru(node: OnnxNode) -> Sequence[Value]:
    """Gates z and r, and a candidate; `linear_before_reset` says where r comes in."""
    after = node.flag("linear_before_reset")
    step = _gru_step_after if after else _gru_step_before
    return _recurrence(node, step, gates=3, states=1, defaults=("Sigmoid", "Tanh"), separate_bias=after)


@OPERATORS.operator("LSTM")
def import_lstm(node: OnnxNode) -> Sequence[Value]:
    """Gates i, o, f and c, maybe with peepholes."""
    step = _coupled_lstm_step if node.flag("input_forget") else _lstm_step
    return _recurrence(node, step, gates=4, states=2, defaults=("Sigmoid", "Tanh", "Tanh"))


def _recurrence(
    node: OnnxNode,
    step: _Step,
    *,
    gates: int,
    states: int,
    defaults: Sequence[str],
    separate_bias: bool = False,
) -> list[Value]:
    """The results of a recurrent operator: the states of all steps, then the last ones."""
    directions = _DIRECTIONS.get(node.string("direction", "forward"))
    if directions is None:
        raise FuseError(
            f"expects 'direction' to be forward, reverse or bidirectional, got '{node.string('direction')}'"
        )
    batch_first = node.integer("layout", 0) == 1
    x = node.operand(0)
    x = transpose(node, x, [1, 0, 2]) if batch_first else x
    hidden = node.shape(node.operand(2))[-1]
    if hidden == DYNAMIC or node.integer("hidden_size", hidden) != hidden:
        raise FuseError(
            f"expects R of {node.integer('hidden_size', hidden)} columns, got {node.type_of(node.operand(2))}"
        )
    functions = activations_of(node, len(directions), defaults)
    lengths = _lengths(node, x)
    outputs: list[list[Value]] = []
    for index, backward in enumerate(directions):
        recurrence = node.builder.materialize(_of_direction(node, node.operand(2), index))
        weight_bias, bias = _biases(node, index, gates * hidden, separate=separate_bias)
        peepholes = _peepholes(node, index, hidden) if states == 2 else ()
        cell = _Cell(hidden, recurrence, bias, peepholes, functions[index], node.real("clip", 0.0))
        products = node.emit(DenseOp, _turned(node, x, lengths, backward), _of_direction(node, node.operand(1), index))
        if weight_bias is not None:
            products = node.emit(BiasAddOp, products, weight_bias, axis=2)
        initial = [_initial(node, 5 + state, index, products, hidden, batch_first) for state in range(states)]
        *last, all_states = _scan(node, step, cell, products, initial, lengths)
        outputs.append([_turned(node, all_states, lengths, backward), *last])
    return _results(node, outputs, batch_first)


def _results(node: OnnxNode, outputs: Sequence[Sequence[Value]], batch_first: bool) -> list[Value]:
    """Y, Y_h, and for an LSTM Y_c, with an axis for the directions."""
    results: list[Value] = []
    for position, parts in enumerate(zip(*outputs, strict=True)):
        axis = 1 if position == 0 else 0
        result = expand_dims(node, parts[0], [axis]) if len(parts) == 1 else node.emit(StackOp, *parts, axis=axis)
        if batch_first:
            result = transpose(node, result, [2, 0, 1, 3] if position == 0 else [1, 0, 2])
        results.append(result)
    return results


def _of_direction(node: OnnxNode, value: Value, index: int) -> Value:
    """The part of a tensor that belongs to one direction: without the first axis."""
    if isinstance(value, Constant):
        return Constant(value.array[index], value.name)
    if node.shape(value)[0] == 1:
        return reshape(node, value, node.shape(value)[1:])
    return node.emit(TakeOp, value, Constant(np.array(index)), axis=0)


def _lengths(node: OnnxNode, x: Value) -> Value | None:
    """The lengths of the sequences, i64; `None` when all are as long as the longest."""
    lengths = node.optional(4)
    if isinstance(lengths, Constant) and bool((lengths.array == node.shape(x)[0]).all()):
        return None
    return None if lengths is None else cast_to(node, lengths, np.dtype(np.int64))


def _turned(node: OnnxNode, x: Value, lengths: Value | None, backward: bool) -> Value:
    if not backward:
        return x
    if lengths is None:
        return node.emit(ReverseOp, x, axes=[0])
    return node.emit(ReverseSequenceOp, x, lengths, seq_axis=0, batch_axis=1)


def _biases(node: OnnxNode, index: int, size: int, *, separate: bool) -> tuple[Value | None, Value | None]:
    """Wb, which is added to all inputs at once, and Rb; their sum and nothing, unless they are needed apart."""
    given = node.optional(3)
    if given is None:
        return None, None
    both = _of_direction(node, given, index)
    weight, recurrence = node.emit_all(SplitOp, both, axis=0, sizes=[size, size])
    return (weight, recurrence) if separate else (node.emit(AddOp, weight, recurrence), None)


def _peepholes(node: OnnxNode, index: int, hidden: int) -> tuple[Value, ...]:
    given = node.optional(7)
    if given is None:
        return ()
    return node.emit_all(SplitOp, _of_direction(node, given, index), axis=0, sizes=[hidden] * 3)


def _initial(node: OnnxNode, operand: int, index: int, products: Value, hidden: int, batch_first: bool) -> Value:
    """The first state: as given, or zeros for every sequence."""
    given = node.optional(operand)
    if given is not None:
        given = transpose(node, given, [1, 0, 2]) if batch_first else given
        return _of_direction(node, given, index)
    batch = node.shape(products)[1]
    if batch != DYNAMIC:
        return Constant(np.broadcast_to(np.zeros((), node.dtype(products)), (batch, hidden)))
    sizes = [node.sizes(products)[1], hidden]
    zeros = node.emit(
        DynFullOp,
        Constant(np.zeros((), node.dtype(products))),
        size_vector(sizes),
        type=node.typed(products, [DYNAMIC, hidden]),
    )
    node.builder.name_sizes(zeros, sizes)
    return zeros


def _scan(
    node: OnnxNode, step: _Step, cell: _Cell, products: Value, initial: Sequence[Value], lengths: Value | None
) -> list[Value]:
    """The last states, then the first state of all steps."""

    def body(
        inner: OnnxNode, number: Value, states: Sequence[Value], rows: Sequence[Value]
    ) -> tuple[Sequence[Value], Sequence[Value]]:
        following = step(inner, cell, rows[0], states)
        if lengths is None:
            return following, following[:1]
        goes_on = expand_dims(inner, inner.emit(LessOp, number, lengths), [1])
        kept = [inner.emit(WhereOp, goes_on, new, old) for new, old in zip(following, states, strict=True)]
        return kept, [inner.emit(WhereOp, goes_on, following[0], inner.scalar(0, following[0]))]

    return emit_loop(node, states=initial, rows=[products], body=body)


def _apply(node: OnnxNode, cell: _Cell, function: int, x: Value) -> Value:
    if cell.clip:
        x = node.emit(ClipOp, x, min=-cell.clip, max=cell.clip)
    return cell.functions[function](node, x)


def _recurrent(node: OnnxNode, cell: _Cell, state: Value) -> Value:
    """State * R, and Rb if it is apart."""
    product = node.emit(DenseOp, state, cell.recurrence)
    return product if cell.recurrence_bias is None else node.emit(BiasAddOp, product, cell.recurrence_bias, axis=1)


def _gates(node: OnnxNode, cell: _Cell, value: Value, count: int) -> tuple[Value, ...]:
    return node.emit_all(SplitOp, value, axis=1, sizes=[cell.hidden] * count)


def _rnn_step(node: OnnxNode, cell: _Cell, product: Value, states: Sequence[Value]) -> list[Value]:
    return [_apply(node, cell, 0, node.emit(AddOp, product, _recurrent(node, cell, states[0])))]


def _gru_step_after(node: OnnxNode, cell: _Cell, product: Value, states: Sequence[Value]) -> list[Value]:
    """The reset gate scales the product of the state with R."""
    (state,) = states
    own = _gates(node, cell, product, 3)
    past = _gates(node, cell, _recurrent(node, cell, state), 3)
    update, reset = (_apply(node, cell, 0, node.emit(AddOp, own[gate], past[gate])) for gate in (0, 1))
    candidate = _apply(node, cell, 1, node.emit(AddOp, own[2], node.emit(MultiplyOp, reset, past[2])))
    return [_mixed(node, update, candidate, state)]


def _gru_step_before(node: OnnxNode, cell: _Cell, product: Value, states: Sequence[Value]) -> list[Value]:
    """The reset gate scales the state before it is multiplied with R."""
    (state,) = states
    own = _gates(node, cell, product, 3)
    outer, sizes = cell.recurrence, [2 * cell.hidden, cell.hidden]
    gate_weight, candidate_weight = node.emit_all(SplitOp, outer, axis=0, sizes=sizes)
    past = _gates(node, cell, node.emit(DenseOp, state, gate_weight), 2)
    update, reset = (_apply(node, cell, 0, node.emit(AddOp, own[gate], past[gate])) for gate in (0, 1))
    scaled = node.emit(DenseOp, node.emit(MultiplyOp, reset, state), candidate_weight)
    candidate = _apply(node, cell, 1, node.emit(AddOp, own[2], scaled))
    return [_mixed(node, update, candidate, state)]


def _mixed(node: OnnxNode, update: Value, candidate: Value, state: Value) -> Value:
    rest = node.emit(SubtractOp, node.scalar(1, update), update)
    return node.emit(AddOp, node.emit(MultiplyOp, rest, candidate), node.emit(MultiplyOp, update, state))


def _lstm_step(node: OnnxNode, cell: _Cell, product: Value, states: Sequence[Value]) -> list[Value]:
    return _next_lstm(node, cell, product, states, coupled=False)


def _coupled_lstm_step(node: OnnxNode, cell: _Cell, product: Value, states: Sequence[Value]) -> list[Value]:
    return _next_lstm(node, cell, product, states, coupled=True)


def _next_lstm(node: OnnxNode, cell: _Cell, product: Value, states: Sequence[Value], *, coupled: bool) -> list[Value]:
    state, memory = states
    sums = node.emit(AddOp, product, _recurrent(node, cell, state))
    into, out, forget, candidate = _gates(node, cell, sums, 4)
    if cell.peepholes:
        into = node.emit(AddOp, into, node.emit(MultiplyOp, cell.peepholes[0], memory))
        forget = node.emit(AddOp, forget, node.emit(MultiplyOp, cell.peepholes[2], memory))
    into = _apply(node, cell, 0, into)
    forget = node.emit(SubtractOp, node.scalar(1, into), into) if coupled else _apply(node, cell, 0, forget)
    added = node.emit(MultiplyOp, into, _apply(node, cell, 1, candidate))
    following = node.emit(AddOp, node.emit(MultiplyOp, forget, memory), added)
    if cell.peepholes:
        out = node.emit(AddOp, out, node.emit(MultiplyOp, cell.peepholes[1], following))
    shown = cell.functions[2](node, following)
    return [node.emit(MultiplyOp, _apply(node, cell, 0, out), shown), following]
