"""Modules, layers, losses and models."""

from __future__ import annotations

from typing import Any, Callable

from ._core import (
    AvgPool2D, BatchNorm2D, Conv2D, ConvTranspose2D, Dense, Dropout, Embedding, FeedForward, Flatten,
    GELU, GlobalAvgPool2D, Init, LayerNorm, MaxPool2D, Model, Module, Parameter,
    ReLU, RMSNorm, SelfAttention, Sequential, SiLU, Sigmoid, Tanh, Tensor, TransformerBlock, accuracy,
    binary_cross_entropy, cross_entropy, cross_entropy_dense, gpt2, lenet, list_models, make_model,
    mean_absolute_error, mean_squared_error, mlp, top_k_accuracy,
)

__all__ = [
    "AvgPool2D", "BatchNorm2D", "Conv2D", "ConvTranspose2D", "Dense", "Dropout", "Embedding",
    "FeedForward", "Flatten", "GELU", "GlobalAvgPool2D", "Init", "Lambda", "LayerNorm", "MaxPool2D",
    "Model", "Module", "Parameter", "ReLU", "RMSNorm", "Residual", "SelfAttention",
    "Sequential", "SiLU", "Sigmoid", "Tanh", "TransformerBlock", "accuracy", "binary_cross_entropy",
    "cross_entropy", "cross_entropy_dense", "gpt2", "lenet", "list_models", "make_model",
    "mean_absolute_error", "mean_squared_error", "mlp", "top_k_accuracy",
]


class Lambda(Module):
    """Any function of one tensor as a module.

    >>> pm.nn.Sequential(pm.nn.Dense(64), pm.nn.Lambda(lambda x: pm.relu(x) * 2))
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        if not callable(function):
            raise TypeError(f"[Lambda] function is {function!r}; it must be a function of a tensor")
        self.function = function

    def forward(self, *inputs: Tensor) -> Any:
        return self.function(*inputs)


class Residual(Module):
    """x + body(x), or shortcut(x) + body(x)."""

    def __init__(self, body: Module, shortcut: Module | None = None) -> None:
        super().__init__()
        self.body = body
        if shortcut is not None:
            self.shortcut = shortcut
        self._plain = shortcut is None

    def forward(self, x: Tensor) -> Tensor:
        kept: Tensor = x if self._plain else self.shortcut(x)
        result: Tensor = kept + self.body(x)
        return result
