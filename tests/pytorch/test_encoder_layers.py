"""Layers of `nn.TransformerEncoder`, which PyTorch runs as one operator: they are read as what they are made of."""

# PyTorch is no dependency of the checks.
# pyright: basic, reportMissingImports=false

import logging
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("llvmlite")
nn = torch.nn

pytestmark = pytest.mark.slow


def padding() -> Any:
    mask = torch.zeros(2, 5, dtype=torch.bool)
    mask[1, 3:] = True
    return mask


MASKS = {
    "none": {},
    "causal": {"mask": nn.Transformer.generate_square_subsequent_mask(5), "is_causal": True},
    "padding": {"src_key_padding_mask": padding()},
    "both": {"mask": torch.ones(5, 5).triu(1).bool(), "src_key_padding_mask": padding()},
}


@pytest.mark.parametrize("masks", MASKS)
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm_first", [False, True])
def test_no_layer_stays_with_pytorch(
    norm_first: bool, activation: str, masks: str, caplog: pytest.LogCaptureFixture
) -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 4, 32, activation=activation, batch_first=True, norm_first=norm_first)
    network = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    x = torch.randn(2, 5, 16)
    with torch.no_grad(), caplog.at_level(logging.INFO, "fuse_dialect.pytorch"):
        expected = network(x, **MASKS[masks])
        found = torch.compile(network, backend="fuse_dialect")(x, **MASKS[masks])
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)
    assert "PyTorch runs" not in caplog.text
