"""LSTM, GRU and RNN against their equations, written down element by element."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from fuse_dialect.api import fuse_ops
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.onnx.reader import import_model
from fuse_dialect.interpreters.numpy import run_module

SEQUENCE, BATCH, INPUTS, HIDDEN = 4, 3, 2, 5
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(kind, options, x, states, w, r, b, p):
    """One step of one sequence; `x` and each state are vectors."""
    gates, hidden = GATES[kind], HIDDEN
    wb, rb = b[: gates * hidden], b[gates * hidden :]
    own = (w @ x + wb).reshape(gates, hidden)
    past = (r @ states[0] + rb).reshape(gates, hidden)
    clip = options.get("clip", np.inf)
    if kind == "RNN":
        return [np.tanh(np.clip(own[0] + past[0], -clip, clip))]
    if kind == "GRU":
        update, reset = (sigmoid(np.clip(own[gate] + past[gate], -clip, clip)) for gate in (0, 1))
        if options.get("linear_before_reset"):
            candidate = own[2] + reset * past[2]
        else:
            candidate = own[2] + r[2 * hidden :] @ (reset * states[0]) + rb[2 * hidden :]
        candidate = np.tanh(np.clip(candidate, -clip, clip))
        return [(1 - update) * candidate + update * states[0]]
    into, out, forget, candidate = own + past
    pi, po, pf = p.reshape(3, hidden)
    into = sigmoid(np.clip(into + pi * states[1], -clip, clip))
    forget = 1 - into if options.get("input_forget") else sigmoid(np.clip(forget + pf * states[1], -clip, clip))
    memory = forget * states[1] + into * np.tanh(np.clip(candidate, -clip, clip))
    out = sigmoid(np.clip(out + po * memory, -clip, clip))
    return [out * np.tanh(memory), memory]


def expected(kind, options, x, w, r, b, lengths, initial, p):
    """Y and the last states."""
    directions = {"forward": [1], "reverse": [-1], "bidirectional": [1, -1]}[options.get("direction", "forward")]
    count = 2 if kind == "LSTM" else 1
    every = np.zeros((SEQUENCE, len(directions), BATCH, HIDDEN))
    last = np.zeros((count, len(directions), BATCH, HIDDEN))
    for (d, way), n in product(enumerate(directions), range(BATCH)):
        states = [state[d, n] for state in initial]
        for t in range(lengths[n])[::way]:
            states = step(kind, options, x[t, n], states, w[d], r[d], b[d], p[d])
            every[t, d, n] = states[0]
        last[:, d, n] = states
    return [every, *last]


def build(kind, options, arrays):
    """A model whose optional inputs that are `None` are left out."""
    names = ["X", "W", "R", "B", "lengths", "h", "c", "P"][: len(arrays)]
    outputs = ["Y", "Y_h", *(["Y_c"] if kind == "LSTM" else [])]
    given_names = [name if array is not None else "" for name, array in zip(names, arrays, strict=True)]
    node = helper.make_node(kind, given_names, outputs, hidden_size=HIDDEN, **options)
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in zip(names, arrays, strict=True)
        if array is not None
    ]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph([node], "graph", inputs, results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


@given(
    kind=st.sampled_from(sorted(GATES)),
    direction=st.sampled_from(["forward", "reverse", "bidirectional"]),
    extras=st.fixed_dictionaries(
        {}, optional={"clip": st.just(0.3), "linear_before_reset": st.just(1), "input_forget": st.just(1)}
    ),
    lengths=st.one_of(st.none(), st.lists(st.integers(0, SEQUENCE), min_size=BATCH, max_size=BATCH)),
    has_bias=st.booleans(),
    has_state=st.booleans(),
    seed=st.integers(0, 1000),
)
@settings(max_examples=25, deadline=None)
def test_recurrent_operators_follow_their_equations(kind, direction, extras, lengths, has_bias, has_state, seed):
    random = np.random.default_rng(seed)
    directions, gates, count = 1 + (direction == "bidirectional"), GATES[kind], 2 if kind == "LSTM" else 1
    allowed = {"RNN": ["clip"], "GRU": ["clip", "linear_before_reset"], "LSTM": ["clip", "input_forget"]}[kind]
    options = {"direction": direction, **{name: extras[name] for name in allowed if name in extras}}

    def normal(*shape):
        return random.normal(size=shape).astype(np.float32)

    x, w, r = (
        normal(SEQUENCE, BATCH, INPUTS),
        normal(directions, gates * HIDDEN, INPUTS),
        normal(directions, gates * HIDDEN, HIDDEN),
    )
    b = normal(directions, 2 * gates * HIDDEN) * has_bias
    initial = [normal(directions, BATCH, HIDDEN) * has_state for _ in range(count)]
    p = normal(directions, 3 * HIDDEN) * (kind == "LSTM")
    arrays = [x, w, r, b if has_bias else None, None if lengths is None else np.array(lengths, np.int32)]
    arrays += initial if has_state else [None] * count
    arrays += [p] if kind == "LSTM" else []
    while arrays[-1] is None:
        arrays.pop()
    module = import_model(build(kind, options, arrays))
    module.verify()
    wanted = expected(kind, options, x, w, r, b, lengths or [SEQUENCE] * BATCH, initial, p)
    inputs = [array for array in arrays if array is not None]
    before = run_module(module, inputs)
    for one, other in zip(before, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)
    fuse_ops(module)
    for one, other in zip(run_module(module, inputs), before, strict=True):
        np.testing.assert_array_equal(one, other)


def plain(kind, **options):
    random = np.random.default_rng(0)
    gates = GATES[kind]
    shapes = [(SEQUENCE, BATCH, INPUTS), (1, gates * HIDDEN, INPUTS), (1, gates * HIDDEN, HIDDEN)]
    arrays = [random.normal(size=shape).astype(np.float32) for shape in shapes]
    return build(kind, options, arrays), arrays


def test_activations_take_their_numbers_in_order():
    options = {
        "activations": ["LeakyRelu", "Affine"],
        "activation_alpha": [0.25, 2.0],
        "activation_beta": [0.5],
    }
    model, arrays = plain("GRU", **options)
    text = str(import_model(model))
    assert "fuse.leaky_relu" in text
    assert "alpha = 0.25" in text
    assert "dense<2.000000e+00>" in text
    assert "dense<5.000000e-01>" in text
    assert len(run_module(import_model(model), arrays)) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"direction": "sideways"}, "expects 'direction' to be forward, reverse or bidirectional, got 'sideways'"),
        ({"activations": ["Tanh"]}, "expects 3 activations, got 1"),
        ({"activations": ["Tanh", "Cosh", "Tanh"]}, "expects a known activation, got 'Cosh'"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, message):
    with pytest.raises(FuseError) as error:
        import_model(plain("LSTM", **options)[0])
    assert message in error.value.message


def test_sequence_and_batch_may_be_dynamic():
    model, arrays = plain("LSTM")
    for name in ("T", "N"):
        model.graph.input[0].type.tensor_type.shape.dim[0 if name == "T" else 1].dim_param = name
    module = import_model(model)
    module.verify()
    assert "fuse.loop" in [op.name for op in module.walk()]
    static = run_module(import_model(plain("LSTM")[0]), arrays)
    for one, other in zip(run_module(module, arrays), static, strict=True):
        np.testing.assert_array_equal(one, other)
    shorter = [arrays[0][:2, :1], *arrays[1:]]
    assert run_module(module, shorter)[0].shape == (2, 1, 1, HIDDEN)
