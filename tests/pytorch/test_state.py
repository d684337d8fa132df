"""What `from_torch` says of state that is lost and of what cannot be exported, and what programs take of PyTorch."""

# PyTorch is no dependency of the checks.
# pyright: basic, reportMissingImports=false

import inspect
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fuse_dialect as fd

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
nn = torch.nn

pytestmark = pytest.mark.slow


class Counter(nn.Module):
    """Counts its calls in a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("n", torch.zeros(1))

    def forward(self, x: Any) -> Any:
        self.n.add_(1)
        return x + self.n


class Assigned(Counter):
    """The same with an assignment."""

    def forward(self, x: Any) -> Any:
        self.n = self.n + 1
        return x + self.n


class Kept(nn.Module):
    """Keeps a tensor for the next call where PyTorch does not look for it."""

    def __init__(self) -> None:
        super().__init__()
        self.last = torch.zeros(3)

    def forward(self, x: Any) -> Any:
        y = x + self.last
        self.last = x
        return y


class InPlace(nn.Module):
    """Changes what it is given."""

    def forward(self, x: Any) -> Any:
        x.add_(1)
        return x * 2


class Doubled(nn.Module):
    """Is fine."""

    def forward(self, x: Any, *, bias: Any = None) -> Any:
        return x * 2 if bias is None else x * 2 - bias


class Branching(nn.Module):
    """Decides by elements."""

    def forward(self, x: Any) -> Any:
        y = x * 2
        if y.sum() > 0:
            return y
        return -y


class Outer(nn.Module):
    """Has a part that does."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Branching()

    def forward(self, x: Any) -> Any:
        return self.inner(x) + 1


class Chosen(nn.Module):
    """Does the same as the hint says."""

    def forward(self, x: Any) -> Any:
        y = x * 2
        return torch.cond(y.sum() > 0, lambda y: y + 0, lambda y: -y, (y,))


def line_of(network: type, text: str) -> str:
    """Where a line of a network stands, as `test_state.py:27`."""
    lines, first = inspect.getsourcelines(network)
    return f"test_state.py:{first + next(place for place, line in enumerate(lines) if text in line)}"


def told(make: Callable[[], Any]) -> list[str]:
    """What is warned of, all of it here and as lost state."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make()
    assert all(each.category is fd.LostStateWarning and each.filename == __file__ for each in caught)
    return [str(each.message) for each in caught]


@pytest.mark.parametrize(("network", "text"), [(Counter, "add_(1)"), (Assigned, "self.n + 1")])
def test_a_buffer_that_is_updated_is_named_with_its_line(network: type, text: str) -> None:
    (said,) = told(lambda: fd.from_torch(network(), torch.ones(3)))
    assert said.startswith(f"'{network.__name__}' updates buffer 'n' ({line_of(network, text)}): ")


def test_an_attribute_that_is_no_buffer_is_named() -> None:
    (said,) = told(lambda: fd.from_torch(Kept(), torch.ones(3)))
    assert said.startswith("'Kept': ")
    assert "self.last" in said


def test_an_input_that_is_changed_is_named_with_its_line() -> None:
    (said,) = told(lambda: fd.from_torch(InPlace(), torch.ones(3)))
    assert said.startswith(f"'InPlace' changes input 'x' in place ({line_of(InPlace, 'x.add_')}): ")


def test_an_exported_program_says_the_same() -> None:
    exported = torch.export.export(Counter(), (torch.ones(3),))
    (said,) = told(lambda: fd.from_torch(exported))
    assert "updates buffer 'n' (" in said


def test_a_norm_in_training_is_named_and_one_in_evaluation_is_not() -> None:
    network = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(), nn.LayerNorm(8))
    (said,) = told(lambda: fd.from_torch(network, torch.ones(2, 4)))
    assert said.startswith("normalization '1' of 'Sequential' is in training: ")
    assert network[1].training
    assert not told(lambda: fd.from_torch(network.eval(), torch.ones(2, 4)))


def test_a_network_without_state_warns_of_nothing() -> None:
    assert not told(lambda: fd.from_torch(Doubled(), torch.ones(3)))


@pytest.mark.parametrize("network", [Branching, Outer])
def test_a_branch_on_elements_is_named_with_its_line(network: type, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(fd.FuseError) as caught:
        fd.from_torch(network(), torch.ones(3))
    lines = str(caught.value).splitlines()
    assert f"/{line_of(Branching, 'if y.sum')}: error: PyTorch cannot export '{network.__name__}'" in lines[0]
    assert lines[1] == "note: if y.sum() > 0:"
    assert lines[2].startswith("hint: write an 'if' as torch.cond")
    assert len(lines) == 3
    assert "GuardOnDataDependent" not in "".join(traceback.format_exception(caught.value))
    captured = capfd.readouterr()
    assert "GraphModule" not in captured.out + captured.err


def test_what_the_hint_says_runs() -> None:
    module = fd.from_torch(Chosen(), torch.ones(3))
    for x in (np.ones(3, np.float32), -np.ones(3, np.float32)):
        np.testing.assert_array_equal(fd.run(module, x)[0], np.full(3, 2.0, np.float32))


def test_an_error_of_the_network_has_its_line() -> None:
    class Wrong(nn.Module):
        def forward(self, x: Any) -> Any:
            return x @ torch.ones(7, 8)

    with pytest.raises(fd.FuseError, match=r"test_state\.py:\d+: error: PyTorch cannot export 'Wrong': RuntimeError"):
        fd.from_torch(Wrong(), torch.ones(3))


@pytest.fixture(scope="module")
def module() -> Any:
    """A module of `Doubled`."""
    return fd.from_torch(Doubled(), torch.ones(3), kwargs={"bias": torch.ones(3)})


@pytest.fixture(scope="module")
def program(module: Any) -> fd.Program:
    """A program of it."""
    return fd.compile(module, backend="numpy")


def test_tensors_with_gradients_are_taken(module: Any, program: fd.Program) -> None:
    x = torch.ones(3, requires_grad=True)
    for result in (program(x, nn.Parameter(torch.zeros(3)))[0], fd.run(module, x, torch.zeros(3))[0]):
        np.testing.assert_array_equal(result, np.full(3, 2.0, np.float32))


def test_tensors_of_bf16_are_taken() -> None:
    module = fd.from_torch(Doubled(), torch.ones(3, dtype=torch.bfloat16))
    x = torch.arange(6, dtype=torch.bfloat16)[::2]
    for result in (fd.compile(module, backend="numpy")(x)[0], fd.run(module, x)[0]):
        assert result.dtype.name == "bfloat16"
        np.testing.assert_array_equal(result.astype(np.float32), [0, 4, 8])


def test_inputs_by_name_are_those_of_forward(program: fd.Program) -> None:
    x, bias = torch.full((3,), 5.0), torch.ones(3)
    for result in (program(x, bias=bias), program(bias=bias, x=x), program({"x": x, "bias": bias})):
        np.testing.assert_array_equal(result[0], np.full(3, 9.0, np.float32))


@pytest.mark.parametrize(
    ("inputs", "named", "text"),
    [
        ((1,), {"x": 1, "bias": 2}, "got input 'x' by place and by name"),
        ((1,), {"scale": 1}, "no input 'bias' among"),
        ((1, 2), {"scale": 1}, "no argument takes the input 'scale'; there are 'x', 'bias'"),
        ((1, 2, 3), {"bias": 1}, "by place and by name"),
        ((), {"x": 1}, "no input 'bias' among 'x'"),
        (({"x": 1},), {"bias": 1}, "expects inputs in one mapping or by name, got both"),
    ],
)
def test_inputs_that_do_not_fit_by_name_are_errors(
    program: fd.Program, inputs: tuple[Any, ...], named: dict[str, Any], text: str
) -> None:
    values = [{name: torch.ones(3) for name in each} if isinstance(each, dict) else torch.ones(3) for each in inputs]
    with pytest.raises(fd.FuseError) as caught:
        program(*values, **{name: torch.ones(3) for name in named})
    assert text in str(caught.value)


@pytest.mark.parametrize("of_torch", [True, False])
def test_complex_inputs_have_a_hint(program: fd.Program, of_torch: bool) -> None:
    x = torch.ones(3, dtype=torch.complex64)
    with pytest.raises(fd.FuseError, match=r"got complex64 of shape 3\nhint: inputs are real; .*value\.real"):
        program(x if of_torch else x.numpy(), torch.ones(3))


def test_a_complex_network_takes_both_parts_as_the_hint_says() -> None:
    module = fd.from_torch(Doubled(), torch.ones(3, dtype=torch.complex64))
    program, x = fd.compile(module, backend="numpy"), torch.tensor([1 + 2j, 3, 4j])
    with pytest.raises(fd.FuseError, match=r"torch\.view_as_real\(value\)"):
        program(x)
    with pytest.raises(fd.FuseError, match=r"numpy\.stack\(\[value\.real, value\.imag\], -1\)"):
        program(x.numpy())
    (result,) = program(torch.view_as_real(x))
    np.testing.assert_array_equal(result[..., 0] + 1j * result[..., 1], 2 * x.numpy())


def test_a_tensor_of_another_type_or_place_has_a_hint(module: Any, program: fd.Program) -> None:
    with pytest.raises(fd.FuseError, match=r"value\.to\(torch\.float32\)"):
        program(torch.ones(3, dtype=torch.bfloat16), torch.ones(3))
    with pytest.raises(fd.FuseError, match=r"Tensor\.to_dense\(\)"):
        program(torch.ones(3).to_sparse(), torch.ones(3))
    with pytest.raises(fd.FuseError, match=r"input 1 expects an array, got a Tensor\nhint: .*meta device"):
        fd.run(module, torch.ones(3), torch.ones(3, device="meta"))
