"""Convolutions and pools in NumPy, on NCHW; helpers for NHWC."""

import numpy as np


def to_layout(x, nhwc):
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1)) if nhwc else x


def padded(x, padding, value=0.0):
    top, bottom, left, right = padding
    return np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=value)


def places(extent, window, stride):
    return (extent - window) // stride + 1


def windows(x, size, stride, padding, dilation=(1, 1), value=0.0):
    """[n, c, kernel height, kernel width, out height, out width]"""
    x = padded(x, padding, value)
    oh = places(x.shape[2], (size[0] - 1) * dilation[0] + 1, stride[0])
    ow = places(x.shape[3], (size[1] - 1) * dilation[1] + 1, stride[1])
    out = np.empty(x.shape[:2] + tuple(size) + (oh, ow))
    for i in range(size[0]):
        for j in range(size[1]):
            y, z = i * dilation[0], j * dilation[1]
            out[:, :, i, j] = x[:, :, y:y + (oh - 1) * stride[0] + 1:stride[0],
                                z:z + (ow - 1) * stride[1] + 1:stride[1]]
    return out


def unwindows(columns, shape, stride, padding, dilation=(1, 1)):
    """The transpose of windows: adds every element where it came from."""
    top, bottom, left, right = padding
    n, c, h, w = shape
    x = np.zeros((n, c, h + top + bottom, w + left + right))
    oh, ow = columns.shape[4:]
    for i in range(columns.shape[2]):
        for j in range(columns.shape[3]):
            y, z = i * dilation[0], j * dilation[1]
            x[:, :, y:y + (oh - 1) * stride[0] + 1:stride[0],
              z:z + (ow - 1) * stride[1] + 1:stride[1]] += columns[:, :, i, j]
    return x[:, :, top:top + h, left:left + w]
