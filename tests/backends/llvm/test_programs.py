"""Programs of every shape mean on every processor what NumPy says, whoever runs which part."""

import numpy as np
import pytest
from native_run import HOSTS, Native
from programs import PROGRAMS, broadcasts, softmax, softmax_meaning

from fuse_dialect.dialect.op import Array
from fuse_dialect.loops.elements import dtype_named
from fuse_dialect.loops.program import Axis, LoopProgram, Role, Stage

SHAPES = [(3, 5), (7, 64), (5, 100), (17, 259), (1, 33), (40, 1)]
hosts = pytest.mark.parametrize("target", HOSTS)
shapes = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape[0]}x{shape[1]}")
programs = pytest.mark.parametrize("name", PROGRAMS)


def arguments(program: LoopProgram, **sizes: int) -> list[Array]:
    """Positive numbers, so that no sum is close to 0."""
    random = np.random.default_rng(0)
    shapes = [
        [sizes.get(str(size), size) for size in buffer.shape]
        for buffer in program.buffers
        if buffer.role is Role.ARGUMENT
    ]
    return [(random.random(shape) + 0.5).astype(dtype_named("f32")) for shape in shapes]


@hosts
@shapes
@programs
def test_a_program_means_what_numpy_says_in_any_number_of_parts(target: str, shape: tuple[int, int], name: str) -> None:
    write, meaning = PROGRAMS[name]
    program = write(*shape)
    given = arguments(program)
    expected = meaning(*(array.astype(np.float64) for array in given))
    native = Native(program, HOSTS[target])
    once = native(*given)[0]
    np.testing.assert_allclose(once, expected, rtol=2e-6, atol=1e-6)
    for parts in (2, 3, 64):
        shared = native(*given, parts=parts if native.kernel.parallel else 1)[0]
        assert shared.tobytes() == once.tobytes()


@programs
def test_the_generic_family_runs_every_program(name: str) -> None:
    write, meaning = PROGRAMS[name]
    given = arguments(write(6, 19))
    (actual,) = Native(write(6, 19), families=["generic"])(*given)
    np.testing.assert_allclose(actual, meaning(*(array.astype(np.float64) for array in given)), rtol=2e-6, atol=1e-6)


@programs
def test_arrays_need_no_more_alignment_than_their_elements(name: str) -> None:
    native = Native(PROGRAMS[name][0](9, 70))
    given = arguments(native.program)
    assert native(*given, offset=4)[0].tobytes() == native(*given)[0].tobytes()


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)], ids=str)
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "layer_norm"])
def test_arrays_without_elements_do_no_harm(name: str, shape: tuple[int, int]) -> None:
    native = Native(PROGRAMS[name][0](*shape))
    results = native(*arguments(native.program), parts=2 if native.kernel.parallel else 1)
    if name in ("column_sums", "row_sums"):
        assert not results[0].any()


@hosts
@pytest.mark.parametrize("rows", [1, 4])
@pytest.mark.parametrize("columns", [1, 16, 37, 1000])
def test_sizes_may_be_known_only_when_the_kernel_is_called(target: str, rows: int, columns: int) -> None:
    program = broadcasts("m", "n")
    x, r, c = arguments(program, m=rows, n=columns)
    np.testing.assert_allclose(Native(program, HOSTS[target])(x, r, c, parts=3)[0], (x + r) * c, rtol=1e-6)


def test_a_softmax_of_rows_of_any_length_keeps_exponentials_in_the_result() -> None:
    native = Native(softmax("m", "n"))
    (x,) = arguments(native.program, m=5, n=39)
    assert native.kernel.workspace_bytes == 0
    np.testing.assert_allclose(native(x)[0], softmax_meaning(x), rtol=2e-6)


def test_arrays_of_unknown_size_between_loops_have_no_kernel() -> None:
    with pytest.raises(AssertionError, match="not known"):
        Native(softmax(4, "n"), families=["generic"])


@hosts
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_nan_and_infinities_come_out_as_numpy_has_them(target: str, special: float) -> None:
    for columns in (5, 200):
        program = softmax(3, columns)
        (x,) = arguments(program)
        x[1, 3] = special
        with np.errstate(invalid="ignore"):
            expected = softmax_meaning(x)
        np.testing.assert_allclose(Native(program, HOSTS[target])(x)[0], expected, rtol=2e-6)


@hosts
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, "payload"])
def test_a_row_of_nothing_but_nan_or_infinity_is_one_of_nan(target: str, special: float | str) -> None:
    for columns in (1, 5, 200):
        program = softmax(3, columns)
        (x,) = arguments(program)
        # A nan may say something in its last bits, which are those that become the exponent of a lifted exponential.
        x[1] = np.float32(special) if special != "payload" else np.array(0x7FC00155, np.uint32).view(np.float32)
        (y,) = Native(program, HOSTS[target])(x)
        assert np.isnan(y[1]).all()
        np.testing.assert_allclose(y[[0, 2]], softmax_meaning(x[[0, 2]]), rtol=2e-6)


@hosts
def test_what_is_masked_out_of_a_softmax_is_0(target: str) -> None:
    program = softmax(3, 200)
    (x,) = arguments(program)
    x[:, ::3] = -np.inf
    x[1, 1::3] = -1e5
    x[2] -= 1e6
    (y,) = Native(program, HOSTS[target])(x)
    assert not y[:, ::3].any()
    assert not y[1, 1::3].any()
    np.testing.assert_allclose(y, softmax_meaning(x), rtol=2e-6)


@pytest.mark.parametrize("divisor", [0.0, -0.0, np.inf, np.nan, 1e-40, 3e38, 1e-30, 3.0])
def test_a_quotient_by_the_number_of_a_row_is_as_exact_as_a_quotient(divisor: float) -> None:
    share = PROGRAMS["softmax"][0](1, 128).stages[-1]
    program = broadcasts(1, 128)
    body = (*program.stages[0].body[:4], share.body[-1].__class__("arith.divf", (0, 3), "f32"))
    native = Native(LoopProgram("q", program.buffers, (Stage("q", "y", (Axis(1), Axis(128)), body),)))
    x, r, c = arguments(program)
    x[0, :4] = 0.0, np.inf, np.nan, 1e-42
    c[...] = divisor
    with np.errstate(all="ignore"):
        expected = x / c
    np.testing.assert_allclose(native(x, r, c)[0], expected, rtol=3e-7)


def test_results_beyond_the_caches_are_written_in_full_wherever_they_begin() -> None:
    rows, columns = 37, 250_003
    program = broadcasts(rows, columns)
    native = Native(program)
    x, r, c = arguments(program)
    expected = (x + r) * c
    for offset in (0, 4, 60):
        assert np.array_equal(native(x, r, c, parts=2, offset=offset)[0], expected)
