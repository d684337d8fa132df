"""Ops of equal signatures are verified once a run, and never skipped when they differ."""

import pytest
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.op import verified_once
from fuse_dialect.dialect.ops.activation import LeakyReluOp, ReluOp
from fuse_dialect.dialect.types import tensor


def module_of(*ops: ReluOp | LeakyReluOp, source: AnyOp) -> ModuleOp:
    return ModuleOp([source, *ops, AnyOp()])


def test_equal_ops_are_verified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    source = AnyOp(result_types=[tensor([4], f32)])
    module = module_of(ReluOp(source), ReluOp(source), ReluOp(source), source=source)
    calls = 0
    verify = ReluOp.infer_types

    def count(self: ReluOp):
        nonlocal calls
        calls += 1
        return verify(self)

    monkeypatch.setattr(ReluOp, "infer_types", count)
    with verified_once():
        module.verify()
    assert calls == 1
    module.verify()
    assert calls == 4


def test_another_result_type_is_verified_again() -> None:
    source = AnyOp(result_types=[tensor([4], f32)])
    wrong = ReluOp(source, result_types=[tensor([5], f32)])
    module = module_of(ReluOp(source), wrong, source=source)
    with verified_once(), pytest.raises(VerifyException, match="expects result 0 of type"):
        module.verify()


def test_an_attribute_is_verified_again() -> None:
    source = AnyOp(result_types=[tensor([4], f32)])
    first, second = LeakyReluOp(source, alpha=0.5), LeakyReluOp(source, alpha=0.5)
    del second.properties["alpha"]
    second.properties["beta"] = first.properties["alpha"]
    module = module_of(first, second, source=source)
    with verified_once(), pytest.raises(VerifyException, match="beta"):
        module.verify()
