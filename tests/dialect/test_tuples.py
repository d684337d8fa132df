"""Tuples: types, meaning, cost."""

import numpy as np
from op_cost import Cost, cost_of

from fuse_dialect.dialect.ops.tuples import GetTupleElementOp, TupleOp


def test_tuple_has_the_type_of_its_fields(build):
    assert str(build(TupleOp, "2xf32", "?xi8").result_types[0]) == "tuple<tensor<2xf32>, tensor<?xi8>>"
    assert str(build(TupleOp, "tuple<tensor<f32>>").result_types[0]) == "tuple<tuple<tensor<f32>>>"
    assert str(build(TupleOp).result_types[0]) == "tuple<>"


def test_get_tuple_element_has_the_type_of_the_element(build):
    pair = "tuple<tensor<2xf32>, tuple<tensor<i1>>>"
    assert str(build(GetTupleElementOp, pair, index=0).result_types[0]) == "tensor<2xf32>"
    assert str(build(GetTupleElementOp, pair, index=1).result_types[0]) == "tuple<tensor<i1>>"


def test_tuples_are_python_tuples(build):
    one, two = np.zeros(2, np.float32), np.ones(3, np.int8)
    (value,) = build(TupleOp, "2xf32", "3xi8").evaluate(one, two)
    assert value == (one, two)
    (element,) = build(GetTupleElementOp, "tuple<tensor<2xf32>, tensor<3xi8>>", index=1).evaluate(value)
    assert element is two


def test_get_tuple_element_rejects_what_is_not_there(rejects):
    assert rejects(GetTupleElementOp, "tuple<tensor<2xf32>>", index=1) == "expects an index in [0, 1), got 1"
    assert rejects(GetTupleElementOp, "tuple<tensor<2xf32>>", index=-1) == "expects an index in [0, 1), got -1"
    assert rejects(GetTupleElementOp, "2xf32", index=0) == "expects a tuple, got tensor<2xf32>"


def test_tuples_cost_nothing(build):
    assert cost_of(build(TupleOp, "?xf32", "3xi8")) == Cost(0, 0)
    assert cost_of(build(GetTupleElementOp, "tuple<tensor<?xf32>>", index=0)) == Cost(0, 0)
