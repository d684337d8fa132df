"""`onnx_ir` is imported without `sympy`, which works all the same once it is needed."""

import subprocess
import sys


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_models_with_known_sizes_never_import_sympy():
    code = "import sys, fuse_dialect as fd; fd.read('docs/examples/tiny_cnn.onnx'); print('sympy' in sys.modules)"
    assert run(code) == "False\n"


def test_symbolic_sizes_are_computed_by_sympy():
    code = (
        "import fuse_dialect.frontends.onnx, onnx_ir as ir\n"
        "size = ir.SymbolicDim('max(N, 3)') * 2 + 1\n"
        "import sympy\n"
        "print(size, sympy.Max(2, 5))"
    )
    assert run(code) == "2*Max(3, N) + 1 5\n"


def test_a_package_that_needs_the_other_at_once_gets_it(tmp_path):
    (tmp_path / "heavy.py").write_text("class Base: pass\n")
    (tmp_path / "light.py").write_text("import heavy\nclass Derived(heavy.Base, object): pass\n")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from fuse_dialect.frontends.onnx.without_sympy import import_without\n"
        "import_without('light', 'heavy')\n"
        "import light\n"
        "print(light.Derived.__mro__[1].__name__)"
    )
    assert run(code) == "Base\n"
