"""Convolutions, with weights in TensorFlow's layouts."""

from __future__ import annotations

from typing import Any, Sequence

import plimsoll as pm

from .. import activations, constraints, initializers, regularizers
from .._base import raw, wrap
from ._core_layers import weight
from ._layer import Layer


def numbers(value: Any, rank: int, name: str) -> tuple[int, ...]:
    """One number for each dimension."""
    if isinstance(value, int):
        return (value,) * rank
    found = tuple(int(n) for n in value)
    if len(found) != rank:
        raise ValueError(f"The `{name}` argument must be a tuple of {rank} integers. Received: {value}")
    return found


def same_padding(size: int, window: int, stride: int) -> tuple[int, int]:
    """TensorFlow's: as many results as the size by the stride, the odd element at the end."""
    total = max((-(-size // stride) - 1) * stride + window - size, 0)
    return total // 2, total - total // 2


def paddings(
    padding: str, sizes: Sequence[int], windows: Sequence[int], strides: Sequence[int]
) -> list[tuple[int, int]]:
    if padding == "same":
        return [same_padding(n, k, s) for n, k, s in zip(sizes, windows, strides)]
    if padding == "causal":
        return [(k - 1, 0) for k in windows]
    return [(0, 0)] * len(sizes)


def data_format_of(value: str | None) -> str:
    if value not in (None, "channels_last", "channels_first"):
        raise ValueError(f"`data_format` must be channels_last or channels_first. Received: {value}")
    return value or "channels_last"


class BaseConv(Layer):
    """A convolution of any rank; 1 and 2 are computed as pictures, channels last."""

    rank = 2

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
        data_format: str | None = None, dilation_rate: Any = 1, groups: int = 1, activation: Any = None,
        use_bias: bool = True, kernel_initializer: Any = "glorot_uniform", bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
        kernel_constraint: Any = None, bias_constraint: Any = None, **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        if not isinstance(filters, int) or filters <= 0:
            raise ValueError(f"Invalid value for argument `filters`. Expected a strictly positive value. "
                             f"Received filters={filters}.")
        self.filters, self.groups, self.use_bias = filters, groups, use_bias
        self.kernel_size = numbers(kernel_size, self.rank, "kernel_size")
        self.strides = numbers(strides, self.rank, "strides")
        self.dilation_rate = numbers(dilation_rate, self.rank, "dilation_rate")
        self.padding = padding.lower()
        if self.padding not in ("valid", "same", "causal") or (self.padding == "causal" and self.rank != 1):
            raise ValueError(f"The `padding` argument must be 'valid' or 'same'. Received: {padding}")
        self.data_format = data_format_of(data_format)
        self.activation = activations.get(activation)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)

    def _channels(self, input_shape: Any) -> int:
        found = input_shape[-1 if self.data_format == "channels_last" else 1]
        if found is None:
            raise ValueError("The channel dimension of the inputs should be defined. The input_shape "
                             f"received is {input_shape}")
        return int(found)

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        if channels % self.groups:
            raise ValueError(f"The number of input channels must be evenly divisible by the number of "
                             f"groups. Received groups={self.groups}, but the input has {channels} channels")
        self.kernel = self.add_weight(
            self.kernel_size + (channels // self.groups, self.filters), self.kernel_initializer,
            name="kernel", regularizer=self.kernel_regularizer, constraint=self.kernel_constraint)
        self._add_bias(self.filters)
        self.built = True

    def _add_bias(self, size: int) -> None:
        self.bias = self.add_weight(
            (size,), self.bias_initializer, name="bias", regularizer=self.bias_regularizer,
            constraint=self.bias_constraint) if self.use_bias else None

    def _picture(self, inputs: Any) -> tuple[pm.Tensor, bool]:
        """Its input as [n, h, w, c], and whether channels came first."""
        x = raw(inputs)
        if x.ndim != self.rank + 2:
            raise ValueError(f"Input 0 of layer \"{self.name}\" is incompatible with the layer: expected "
                             f"ndim={self.rank + 2}, found ndim={x.ndim}. Full shape: {tuple(x.shape)}")
        if x.dtype not in (pm.f32, pm.f16, pm.bf16, pm.f64):
            x = pm.cast(x, pm.f32)
        first = self.data_format == "channels_first"
        if first:
            x = pm.transpose(x, [0, *range(2, x.ndim), 1])
        if self.rank == 1:
            x = x.reshape((x.shape[0], 1, x.shape[1], x.shape[2]))
        return x, first

    def _back(self, y: pm.Tensor, first: bool) -> Any:
        if self.rank == 1:
            y = y.reshape((y.shape[0], y.shape[2], y.shape[3]))
        if first:
            y = pm.transpose(y, [0, y.ndim - 1, *range(1, y.ndim - 1)])
        return self.activation(wrap(y))

    def _two(self, values: Sequence[int], missing: int = 1) -> tuple[int, int]:
        return (missing, values[0]) if self.rank == 1 else (values[0], values[1])

    def _pads(self, x: pm.Tensor, strides: Sequence[int] | None = None) -> tuple[int, int, int, int]:
        sizes = [x.shape[2]] if self.rank == 1 else [x.shape[1], x.shape[2]]
        windows = [(k - 1) * d + 1 for k, d in zip(self.kernel_size, self.dilation_rate)]
        found = paddings(self.padding, sizes, windows, strides or self.strides)
        if self.rank == 1:
            found = [(0, 0), *found]
        return (*found[0], *found[1])

    def _kernel(self, x: pm.Tensor) -> pm.Tensor:
        """[out, in, h, w] of the kernel as it is kept."""
        k = weight(self.kernel, x)
        if self.rank == 1:
            k = k.reshape((1, *k.shape))
        return pm.transpose(k, [3, 2, 0, 1])

    def call(self, inputs: Any) -> Any:
        x, first = self._picture(inputs)
        y = pm.conv2d(
            x, self._kernel(x), None if self.bias is None else weight(self.bias, x),
            stride=self._two(self.strides), padding=self._pads(x), dilation=self._two(self.dilation_rate),
            groups=self.groups, layout="channels_last")
        return self._back(y, first)


class Conv1D(BaseConv):
    rank = 1


class Conv2D(BaseConv):
    def __init__(self, filters: int, kernel_size: Any, strides: Any = (1, 1), *args: Any, **kwargs: Any) -> None:
        super().__init__(filters, kernel_size, strides, *args, **kwargs)


class Conv3D(BaseConv):
    rank = 3

    def __init__(self, filters: int, kernel_size: Any, strides: Any = 1, *args: Any, **kwargs: Any) -> None:
        super().__init__(filters, kernel_size, strides, *args, **kwargs)

    def call(self, inputs: Any) -> Any:
        """A sum over the depth of the window: each slice of it is a convolution of pictures."""
        x, first = self._volume(inputs)
        if self.groups != 1:
            raise NotImplementedError("Conv3D(groups=...) is not supported; leave it at 1")
        kernel = weight(self.kernel, x)
        sizes = list(x.shape[1:4])
        windows = [(k - 1) * d + 1 for k, d in zip(self.kernel_size, self.dilation_rate)]
        pads = paddings(self.padding, sizes, windows, self.strides)
        n, _, h, w, c = x.shape
        if pads[0] != (0, 0):
            x = pm.pad(x, [0, pads[0][0], 0, 0, 0], [0, pads[0][1], 0, 0, 0])
        depth = (x.shape[1] - windows[0]) // self.strides[0] + 1
        total = None
        for i in range(self.kernel_size[0]):
            begin = i * self.dilation_rate[0]
            part = x[:, begin:begin + (depth - 1) * self.strides[0] + 1:self.strides[0]]
            flat = part.reshape((n * depth, h, w, c))
            found = pm.conv2d(
                flat, pm.transpose(kernel[i], [3, 2, 0, 1]), None, stride=self.strides[1:],
                padding=(*pads[1], *pads[2]), dilation=self.dilation_rate[1:], layout="channels_last")
            total = found if total is None else total + found
        assert total is not None
        if self.bias is not None:
            total = total + weight(self.bias, x)
        y = total.reshape((n, depth, *total.shape[1:]))
        if first:
            y = pm.transpose(y, [0, 4, 1, 2, 3])
        return self.activation(wrap(y))

    def _volume(self, inputs: Any) -> tuple[pm.Tensor, bool]:
        x = raw(inputs)
        first = self.data_format == "channels_first"
        return (pm.transpose(x, [0, 2, 3, 4, 1]) if first else x), first


class Conv2DTranspose(BaseConv):
    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid",
        output_padding: Any = None, data_format: str | None = None, dilation_rate: Any = (1, 1),
        **kwargs: Any,
    ) -> None:
        super().__init__(filters, kernel_size, strides, padding, data_format, dilation_rate, **kwargs)
        self.output_padding = None if output_padding is None else numbers(
            output_padding, self.rank, "output_padding")

    def build(self, input_shape: Any) -> None:
        self.kernel = self.add_weight(
            self.kernel_size + (self.filters, self._channels(input_shape)), self.kernel_initializer,
            name="kernel", regularizer=self.kernel_regularizer, constraint=self.kernel_constraint)
        self._add_bias(self.filters)
        self.built = True

    def _extent(self, size: int, axis: int) -> tuple[int, tuple[int, int]]:
        """The size of the result, and the padding of the convolution that gives `size` of it."""
        window = (self.kernel_size[axis] - 1) * self.dilation_rate[axis] + 1
        stride = self.strides[axis]
        if self.output_padding is not None:
            pad = window // 2 if self.padding == "same" else 0
            length = (size - 1) * stride + window - 2 * pad + self.output_padding[axis]
        elif self.padding == "same":
            length = size * stride
        else:
            length = size * stride + max(window - stride, 0)
        return length, same_padding(length, window, stride) if self.padding == "same" else (0, 0)

    def call(self, inputs: Any) -> Any:
        x, first = self._picture(inputs)
        sizes = [x.shape[2]] if self.rank == 1 else [x.shape[1], x.shape[2]]
        found = [self._extent(n, i) for i, n in enumerate(sizes)]
        if self.rank == 1:
            found = [(1, (0, 0)), *found]
        shape = (x.shape[0], found[0][0], found[1][0], self.filters)
        y = pm.conv2d_transpose(
            x, self._kernel(x), shape, stride=self._two(self.strides), padding=(*found[0][1], *found[1][1]),
            dilation=self._two(self.dilation_rate), layout="channels_last")
        return self._back(y if self.bias is None else y + weight(self.bias, x), first)


class Conv1DTranspose(Conv2DTranspose):
    rank = 1

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
        output_padding: Any = None, data_format: str | None = None, dilation_rate: Any = 1, **kwargs: Any,
    ) -> None:
        super().__init__(filters, kernel_size, strides, padding, output_padding, data_format,
                         dilation_rate, **kwargs)


class DepthwiseConv2D(BaseConv):
    """One filter, or several, for each channel."""

    def __init__(
        self, kernel_size: Any, strides: Any = 1, padding: str = "valid", depth_multiplier: int = 1,
        data_format: str | None = None, dilation_rate: Any = 1, activation: Any = None,
        use_bias: bool = True, depthwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros", depthwise_regularizer: Any = None,
        depthwise_constraint: Any = None, **kwargs: Any,
    ) -> None:
        super().__init__(
            1, kernel_size, strides, padding, data_format, dilation_rate, 1, activation, use_bias,
            bias_initializer=bias_initializer, **kwargs)
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = initializers.get(depthwise_initializer)
        self.depthwise_regularizer = regularizers.get(depthwise_regularizer)
        self.depthwise_constraint = constraints.get(depthwise_constraint)

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        self.kernel = self.add_weight(
            self.kernel_size + (channels, self.depth_multiplier), self.depthwise_initializer,
            name="kernel", regularizer=self.depthwise_regularizer, constraint=self.depthwise_constraint)
        self._add_bias(channels * self.depth_multiplier)
        self.built = True

    def _depthwise(self, x: pm.Tensor, kept: Any, bias: pm.Tensor | None) -> pm.Tensor:
        k = weight(kept, x)
        if self.rank == 1:
            k = k.reshape((1, *k.shape))
        height, width, channels, times = k.shape
        k = pm.transpose(k, [2, 3, 0, 1]).reshape((channels * times, 1, height, width))
        strides = self._two(self.strides, self.strides[0])
        return pm.conv2d(x, k, bias, stride=strides, padding=self._pads(x),
                         dilation=self._two(self.dilation_rate), groups=channels, layout="channels_last")

    def call(self, inputs: Any) -> Any:
        x, first = self._picture(inputs)
        return self._back(
            self._depthwise(x, self.kernel, None if self.bias is None else weight(self.bias, x)), first)


class DepthwiseConv1D(DepthwiseConv2D):
    rank = 1


class SeparableConv2D(DepthwiseConv2D):
    """A depthwise convolution, then one of single points."""

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
        data_format: str | None = None, dilation_rate: Any = 1, depth_multiplier: int = 1,
        activation: Any = None, use_bias: bool = True, depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform", bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None, pointwise_regularizer: Any = None,
        depthwise_constraint: Any = None, pointwise_constraint: Any = None, **kwargs: Any,
    ) -> None:
        super().__init__(
            kernel_size, strides, padding, depth_multiplier, data_format, dilation_rate, activation,
            use_bias, depthwise_initializer, bias_initializer, depthwise_regularizer,
            depthwise_constraint, **kwargs)
        self.filters = filters
        self.pointwise_initializer = initializers.get(pointwise_initializer)
        self.pointwise_regularizer = regularizers.get(pointwise_regularizer)
        self.pointwise_constraint = constraints.get(pointwise_constraint)

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        self.depthwise_kernel = self.add_weight(
            self.kernel_size + (channels, self.depth_multiplier), self.depthwise_initializer,
            name="depthwise_kernel", regularizer=self.depthwise_regularizer,
            constraint=self.depthwise_constraint)
        self.pointwise_kernel = self.add_weight(
            (1,) * self.rank + (channels * self.depth_multiplier, self.filters),
            self.pointwise_initializer, name="pointwise_kernel", regularizer=self.pointwise_regularizer,
            constraint=self.pointwise_constraint)
        self._add_bias(self.filters)
        self.built = True

    def call(self, inputs: Any) -> Any:
        x, first = self._picture(inputs)
        y = self._depthwise(x, self.depthwise_kernel, None)
        k = weight(self.pointwise_kernel, x)
        k = k.reshape((1, 1, k.shape[-2], k.shape[-1]))
        y = pm.conv2d(y, pm.transpose(k, [3, 2, 0, 1]), None if self.bias is None else weight(self.bias, x),
                      layout="channels_last")
        return self._back(y, first)


class SeparableConv1D(SeparableConv2D):
    rank = 1


class Conv3DTranspose(Layer):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("keras.layers.Conv3DTranspose is not supported; use UpSampling3D and "
                                  "Conv3D, or Conv2DTranspose on slices")


Convolution1D, Convolution2D, Convolution3D = Conv1D, Conv2D, Conv3D
Convolution2DTranspose, SeparableConvolution2D = Conv2DTranspose, SeparableConv2D
