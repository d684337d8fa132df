"""`tools/run_corpora.py` on small files: what it counts as fused, unconnected, refused and flagged."""

import pytest
import run_corpora
from corpora import judging
from corpora.pieces import Flag
from xdsl.dialects.builtin import UnitAttr

from fuse_dialect.fusion.fuse_ops import FuseOpsPass

T = "tensor<4xf32>"


def _function(*lines, returned="%1"):
    body = "\n".join(f"  {line}" for line in lines)
    return f"func.func @main(%x: {T}, %w: {T}) -> {T} {{\n{body}\n  return {returned} : {T}\n}}\n"


FUSED = _function(f"%0 = stablehlo.add %x, %w : {T}", f"%1 = stablehlo.negate %0 : {T}")
APART = _function(
    f"%0 = stablehlo.negate %x : {T}",
    f'%2 = "test.effect"(%0) : ({T}) -> {T}',
    f"%1 = stablehlo.negate %2 : {T}",
)
REFUSED = _function(f"%1 = unknown.op %x : {T}")
CONNECTED = _function(
    f"%0 = stablehlo.negate %x : {T}",
    f'%1 = "test.opaque"(%0) {{fuse.pattern_kind = #fuse.pattern_kind<opaque>}} : ({T}) -> {T}',
)
XDSL_CANNOT = """"riscv_func.func"() ({
"riscv_func.return"() : () -> ()
}) {sym_name = "f", function_type = () -> (), sym_visibility = "nobody_knows"} : () -> ()
"""


@pytest.fixture
def folder(tmp_path):
    pieces = [FUSED, "// nothing but a comment\n", APART, REFUSED, CONNECTED, XDSL_CANNOT]
    (tmp_path / "all.mlir").write_text("// -----\n".join(pieces))
    return tmp_path


def test_pieces_are_counted_by_what_became_of_them(folder, capsys):
    assert run_corpora.main([str(folder), "--list"]) == 0
    out = capsys.readouterr().out
    print(out)
    assert "pieces: 5, read 4, refused 1" in out
    assert "flagged: 0" in out
    assert "cannot read it: 1" in out
    assert "with two ops of known kind: 3, of which 1 fuse (33.3 %)" in out
    assert "one of which reads the other: 2, of which 1 fuse (50.0 %)" in out
    assert f"refused: {folder / 'all.mlir'}:15: " in out
    assert f"not fused: {folder / 'all.mlir'}:23: opaque test.opaque -" in out


def test_folders_have_a_row_each(folder, tmp_path_factory, capsys):
    other = tmp_path_factory.mktemp("other")
    (other / "deep").mkdir()
    (other / "deep" / "one.mlir").write_text(FUSED)
    run_corpora.main([str(folder), str(other)])
    out = capsys.readouterr().out
    print(out)
    assert f"  {folder.name}: 5, 4, 3 33.3 %, 2 50.0 %" in out
    assert f"  {other.name}: 1, 1, 1 100.0 %, 1 100.0 %" in out


def _flags(tmp_path, text=FUSED, seconds=20.0):
    (tmp_path / "one.mlir").write_text(text)
    (verdict,) = judging.verdicts_of(tmp_path / "one.mlir", seconds)
    print(verdict)
    return {flag for flag, _ in verdict.flags}


def _with_fault(monkeypatch, fault):
    outline = FuseOpsPass.outline

    def faulty(self, module, plans):
        outline(self, module, plans)
        fault(module)

    monkeypatch.setattr(FuseOpsPass, "outline", faulty)


def test_lost_op_is_flagged(tmp_path, monkeypatch):
    def lose(module):
        for op in [each for each in module.walk() if each.name == "stablehlo.negate"]:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.detach()
            op.erase()

    _with_fault(monkeypatch, lose)
    assert Flag.OP_LOST in _flags(tmp_path)


def test_reordered_effects_are_flagged(tmp_path, monkeypatch):
    text = f'func.func @main(%x: {T}) {{ "test.a"(%x) : ({T}) -> ()\n "test.b"(%x) : ({T}) -> ()\n return }}'

    def swap(module):
        first = next(each for each in module.walk() if str(each).startswith('"test.a"'))
        block, second = first.parent, first.next_op
        second.detach()
        block.insert_op_before(second, first)

    _with_fault(monkeypatch, swap)
    assert Flag.EFFECT_REORDERED in _flags(tmp_path, text)


def test_internal_error_is_flagged(tmp_path, monkeypatch):
    def fail(module):
        raise KeyError("nobody foresaw")

    _with_fault(monkeypatch, fail)
    assert _flags(tmp_path) == {Flag.INTERNAL_ERROR}


def test_second_run_that_changes_something_is_flagged(tmp_path, monkeypatch):
    def once_more(self, ctx, module):
        module.attributes["again"] = UnitAttr()

    monkeypatch.setattr(FuseOpsPass, "apply", once_more)
    assert Flag.NOT_STABLE in _flags(tmp_path)


def test_time_is_bounded(tmp_path):
    assert _flags(tmp_path, seconds=1e-6) == {Flag.OUT_OF_TIME}


def test_folder_without_files_is_an_error(tmp_path, capsys):
    assert run_corpora.main([str(tmp_path)]) == 1
    assert "no .mlir file" in capsys.readouterr().err
