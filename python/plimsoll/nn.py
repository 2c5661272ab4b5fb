"""Modules, layers, losses, metrics and models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from ._core import (
    AvgPool1D, AvgPool2D, AvgPool3D, BatchNorm2D, BinaryCounts, CELU, ConfusionMatrix, Conv1D,
    Conv2D, Conv3D, ConvTranspose1D, ConvTranspose2D, ConvTranspose3D, Dense, DepthwiseConv1D,
    DepthwiseConv2D, DropPath, Dropout, ELU, Embedding, EmbeddingBag, FeedForward, Flatten,
    GatedFeedForward, GELU, GLU, GlobalAvgPool1D, GlobalAvgPool2D, GlobalAvgPool3D,
    GlobalMaxPool1D, GlobalMaxPool2D, GlobalMaxPool3D, GroupNorm, GRU, HardSigmoid, HardSwish,
    HardTanh, Init, InstanceNorm, LayerNorm, LeakyReLU, LogSigmoid, LSTM, MaxPool1D, MaxPool2D, MaxPool3D, Mean,
    Mish, Model, Module, MultiHeadAttention, Pad1D, Pad2D, Parameter, PReLU, Recurrent, ReLU, ReLU6,
    RMSNorm, SelfAttention, SELU, SeparableConv1D, SeparableConv2D, Sequential, SiLU, Sigmoid,
    SimpleRNN, Softplus, Softsign, Tanh, Tensor, TransformerBlock, TransformerDecoderLayer,
    TransformerEncoderLayer, Upsample2D, bert, convnext, dlrm, efficientnet_b0, gpt2, lenet,
    list_models, llama, lstm_lm, make_model, mixer, mlp, resnet18, resnet50, unet, vit,
)
from ._core._nn import (
    accuracy, attention, auc, binary_counts, binary_cross_entropy, binary_focal, celu,
    confusion_counts, contrastive, cosine_distance, cosine_embedding, cosine_similarity,
    cross_entropy, cross_entropy_dense, ctc_loss, drop_path, focal, gated, glu, group_norm, hard_sigmoid,
    hard_swish, hard_tanh, hinge, huber, kl_divergence, log_cosh, log_sigmoid, mean_absolute_error,
    mean_squared_error, merge_heads, mish, pad, poisson, prelu, relu6, resize_bilinear2d,
    resize_linear1d, roc_counts, rope, rope_tables, selu, smooth_l1, softsign, spectral_norm,
    split_heads, squared_hinge, top_k_accuracy, triplet, weight_norm,
)
from ._collections import ModuleDict as ModuleDict, ModuleList as ModuleList
from ._hints import names_in
from ._mistakes import explain, shown
from ._traceback import boundary, guarded

# One class serves sequences, pictures and volumes; the names say what is meant.
BatchNorm = BatchNorm1D = BatchNorm3D = BatchNorm2D

__all__ = [
    "accuracy", "attention", "auc", "AvgPool1D", "AvgPool2D", "AvgPool3D", "BatchNorm",
    "BatchNorm1D", "BatchNorm2D", "BatchNorm3D", "bert", "binary_counts", "binary_cross_entropy",
    "binary_focal", "BinaryCounts", "celu", "CELU", "confusion_counts", "ConfusionMatrix",
    "contrastive", "Conv1D", "Conv2D", "Conv3D", "convnext", "ConvTranspose1D", "ConvTranspose2D",
    "ConvTranspose3D", "cosine_distance", "cosine_embedding", "cosine_similarity", "cross_entropy",
    "cross_entropy_dense", "ctc_loss", "Dense", "DepthwiseConv1D", "DepthwiseConv2D", "dlrm", "drop_path",
    "Dropout", "DropPath", "efficientnet_b0", "ELU", "Embedding", "EmbeddingBag", "FeedForward", "Flatten",
    "focal", "gated", "GatedFeedForward", "geglu", "GELU", "GlobalAvgPool1D", "GlobalAvgPool2D",
    "GlobalAvgPool3D", "GlobalMaxPool1D", "GlobalMaxPool2D", "GlobalMaxPool3D", "GLU", "glu",
    "gpt2", "group_norm", "GroupNorm", "GRU", "hard_sigmoid", "hard_swish", "hard_tanh",
    "HardSigmoid", "HardSwish", "HardTanh", "hinge", "huber", "Init", "InstanceNorm",
    "kl_divergence", "Lambda", "LayerNorm", "LeakyReLU", "lenet", "list_models", "llama",
    "log_cosh", "log_sigmoid", "LogSigmoid", "LSTM", "lstm_lm", "make_model", "MaxPool1D",
    "MaxPool2D", "MaxPool3D", "Mean", "mean_absolute_error", "mean_squared_error", "merge_heads",
    "Mish", "mish", "mixer", "mlp", "Model", "Module", "ModuleDict", "ModuleList", "MultiHeadAttention", "pad", "Pad1D",
    "Pad2D", "Parameter", "poisson", "PReLU", "prelu", "Recurrent", "ReLU", "ReLU6", "relu6",
    "Residual", "resize_bilinear2d", "resize_linear1d", "resnet18", "resnet50", "RMSNorm",
    "roc_counts", "rope", "rope_tables", "SelfAttention", "selu", "SELU", "SeparableConv1D",
    "SeparableConv2D", "Sequential", "Sigmoid", "SiLU", "SimpleRNN", "smooth_l1", "Softplus",
    "softsign", "Softsign", "spectral_norm", "split_heads", "squared_hinge", "swiglu", "Tanh",
    "top_k_accuracy", "TransformerBlock", "TransformerDecoderLayer", "TransformerEncoderLayer",
    "triplet", "unet", "Upsample2D", "vit", "weight_norm",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_in(__name__, __all__)


@boundary
def _in_order(module: Module, forward: Any, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """The inputs of a call in the order in which forward() takes them; C++ knows them by their places."""
    import inspect  # not needed before an input is named

    name = type(module).__name__
    if forward is None:
        raise explain("__call__", ["def __call__(self, *inputs: Tensor | Variable)"], module, given, named)
    signature = inspect.signature(forward)
    try:
        bound = signature.bind(*given, **named)
    except TypeError as error:
        raise TypeError(f"[{name}] {error}; it has forward{signature}") from None
    for each in bound.kwargs:
        raise TypeError(
            f"[{name}] {each} cannot be given to forward{signature}: inputs are tensors in order, so those before it must "
            "be given as well, and none can be taken by name alone"
        )
    inputs = list(bound.args)
    while inputs and inputs[-1] is None:  # as if it was left out
        inputs.pop()
    return tuple(inputs)


@boundary
def swiglu(x: Tensor, axis: int = -1) -> Tensor:
    """The halves a and b of x along `axis`, as a * silu(b)."""
    return glu(x, axis, gate="silu")


@boundary
def geglu(x: Tensor, axis: int = -1) -> Tensor:
    """The halves a and b of x along `axis`, as a * gelu(b)."""
    return glu(x, axis, gate="gelu")


@guarded
class Lambda(Module):
    """Any function of one tensor as a module.

    >>> pm.nn.Sequential(pm.nn.Dense(64), pm.nn.Lambda(lambda x: pm.relu(x) * 2))
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        if not callable(function):
            raise TypeError(f"[Lambda] function is {shown(function)}; it must be a function of a tensor")
        self.function = function

    def forward(self, *inputs: Tensor) -> Any:
        return self.function(*inputs)


@guarded
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
