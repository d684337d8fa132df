"""Running products, sequences of different lengths, Fourier transforms."""

import numpy as np
import pytest

from fuse_dialect.dialect.ops.sequences import CumprodOp, DftOp, ReverseSequenceOp


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumprod_multiplies_what_is_before(apply, random, axis, exclusive, reverse):
    x = random.integers(-3, 4, (3, 4))
    got = np.moveaxis(apply(CumprodOp, x, axis=axis, exclusive=exclusive, reverse=reverse), axis, -1)
    lines = np.moveaxis(x, axis, -1)
    for index in np.ndindex(*lines.shape):
        *line, place = index
        own = lines[tuple(line)]
        part = own[place + exclusive :] if reverse else own[: place + (not exclusive)]
        assert got[index] == np.prod(part, dtype=np.int64)


@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (2, 0), (-1, 1)])
def test_reverse_sequence_turns_the_beginning(apply, random, axes):
    seq, batch = axes
    x = random.normal(size=(3, 4, 5))
    lengths = random.integers(0, x.shape[seq] + 1, x.shape[batch])
    got = np.moveaxis(apply(ReverseSequenceOp, x, lengths, seq_axis=seq, batch_axis=batch), (batch, seq), (0, 1))
    lines = np.moveaxis(x, (batch, seq), (0, 1))
    for line, result, length in zip(lines, got, lengths, strict=True):
        np.testing.assert_array_equal(result, np.concatenate([line[:length][::-1], line[length:]]))


@pytest.mark.parametrize("length", [None, 3, 8, 11])
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("parts", [1, 2])
def test_dft_is_its_sum(apply, random, length, inverse, parts):
    x = random.normal(size=(2, 8, parts))
    got = apply(DftOp, x, axis=1, length=length, inverse=inverse)
    values = x[..., 0] + (1j * x[..., 1] if parts == 2 else 0)
    count = length or 8
    values = np.pad(values, [(0, 0), (0, max(0, count - 8))])[:, :count]
    angles = (1 if inverse else -1) * 2j * np.pi * np.outer(np.arange(count), np.arange(count)) / count
    expected = values @ np.exp(angles) / (count if inverse else 1)
    np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1], expected, atol=1e-9)


@pytest.mark.parametrize("size", [7, 8])
def test_half_a_transform_goes_back(apply, random, size):
    x = random.normal(size=(3, size, 1))
    half = apply(DftOp, x, onesided=True)
    assert half.shape == (3, size // 2 + 1, 2)
    np.testing.assert_allclose(apply(DftOp, half, onesided=True, inverse=True, length=size), x, atol=1e-12)


def test_transforms_cost_a_logarithm(build, infer):
    assert build(DftOp, "2x8x1xf32").flops() == 2 * 8 * 2 * 5 * 3
    assert infer(DftOp, "?x?x2xf16", length=4, axis=0) == "4x?x2xf16"


def test_a_line_of_no_elements_has_no_transform(rejects):
    assert "at least one element" in rejects(DftOp, "0x2xf32", axis=0)
    assert "at least one element" in rejects(DftOp, "1x2xf32", axis=0, inverse=True, onesided=True)
