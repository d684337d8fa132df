"""Recurrent networks for `networks.small`: one layer and two, one direction or both, with a given state or not."""

# torch is no dependency of the checks: it is not installed there, and says little about its types.
# pyright: basic, reportMissingImports=false

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from networks.small import OPEN_SEQUENCE, TEXT, Inputs, network, sequence

_OPEN_STATE = {**OPEN_SEQUENCE, "hidden": {1: "batch"}, "cell": {1: "batch"}}


class _Last(nn.Module):
    """A recurrent layer and a classifier on the last step."""

    def __init__(self, layer: nn.Module, width: int):
        super().__init__()
        self.layer = layer
        self.head = nn.Linear(width, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layer(x)[0][:, -1])


class _Everything(nn.Module):
    """A recurrent layer that starts from a given state and gives all it has."""

    def __init__(self, layer: nn.Module):
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if not isinstance(self.layer, nn.LSTM):
            y, last = self.layer(x, hidden * cell)
            return y, last, last
        y, (last, kept) = self.layer(x, (hidden, cell))
        return y, last, kept


def _with_state(sizes: Mapping[str, int]) -> Inputs:
    shape = 4, sizes["batch"], 16
    return {**sequence(8)(sizes), "hidden": torch.randn(shape), "cell": torch.randn(shape)}


@network("lstm", sequence(8), OPEN_SEQUENCE, TEXT)
def _lstm() -> nn.Module:
    return _Last(nn.LSTM(8, 16, batch_first=True), 16)


@network("gru", sequence(8), OPEN_SEQUENCE, TEXT)
def _gru() -> nn.Module:
    return _Last(nn.GRU(8, 16, batch_first=True), 16)


@network("rnn", sequence(8), OPEN_SEQUENCE, TEXT)
def _rnn() -> nn.Module:
    return _Last(nn.RNN(8, 16, 2, nonlinearity="relu", batch_first=True, bidirectional=True), 32)


@network("lstm_both_ways", sequence(8), OPEN_SEQUENCE, TEXT)
def _lstm_both_ways() -> nn.Module:
    return _Last(nn.LSTM(8, 16, 2, batch_first=True, bidirectional=True, dropout=0.1), 32)


@network("gru_both_ways", sequence(8), OPEN_SEQUENCE, TEXT)
def _gru_both_ways() -> nn.Module:
    return _Last(nn.GRU(8, 16, 2, batch_first=True, bidirectional=True, bias=False), 32)


@network("lstm_state", _with_state, _OPEN_STATE, TEXT)
def _lstm_state() -> nn.Module:
    return _Everything(nn.LSTM(8, 16, 2, batch_first=True, bidirectional=True))


@network("gru_state", _with_state, _OPEN_STATE, TEXT)
def _gru_state() -> nn.Module:
    return _Everything(nn.GRU(8, 16, 2, batch_first=True, bidirectional=True))
