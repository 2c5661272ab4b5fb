"""Cases of functions that make tensors and move their elements, and of tf.linalg."""

from __future__ import annotations

from typing import Any

import numpy as np

from api_cases import Arguments, Case, Draw, Plain


def _any(d: Draw, shape: list[int]) -> Any:
    return d.array(shape, str(d.of("float32", "float32", "int32", "int64", "bool", "float64", "uint8")))


def filled(d: Draw) -> Arguments:
    shape = d.shape()
    if d.chance(0.04):
        shape = [*shape, -1]
    return [shape], ({"dtype": Plain(str(d.of("float32", "int32", "int64", "bool", "float64")))} if d.chance(0.6) else {})


def fill(d: Draw) -> Arguments:
    return [d.shape(), d.array([], str(d.of("float32", "int32", "bool")))], {}


def like(d: Draw) -> Arguments:
    return [_any(d, d.shape())], ({"dtype": Plain(str(d.of("float32", "int32")))} if d.chance(0.3) else {})


def ranges(d: Draw) -> Arguments:
    if d.chance(0.3):
        return [d.whole(0, 9) if d.chance(0.8) else 3.5], {}
    start = d.whole(-4, 4)
    if d.chance(0.5):
        return [start, start + d.whole(0, 9), d.whole(1, 3)], {}
    return [float(start), start + d.whole(0, 9) + 0.25, round(float(d.floats([], 0.3, 2)), 2)], {}


def eye(d: Draw) -> Arguments:
    args: list[Any] = [d.whole(1, 4)]
    kwargs: dict[str, Any] = {}
    if d.chance(0.5):
        args.append(d.whole(1, 4))
    if d.chance(0.3):
        kwargs["batch_shape"] = d.full_shape(1, 2, 2)
    if d.chance(0.3):
        kwargs["dtype"] = Plain(str(d.of("int32", "float64")))
    return args, kwargs


def linspace(d: Draw) -> Arguments:
    low = round(float(d.floats([])), 2)
    return [low, low + d.whole(0, 5), d.whole(1, 7)], {}


def one(d: Draw) -> Arguments:
    return [_any(d, d.shape())], {}


def reshape(d: Draw) -> Arguments:
    shape = d.full_shape(0, 3)
    x = _any(d, shape)
    size = int(np.prod(shape))
    options = [[-1], [size], [1, size], [size, 1], [-1, max(shape[-1] if shape else 1, 1)], [1, -1, 1], [2, -1]]
    return [x, d.of(*options)], {}


def transpose(d: Draw) -> Arguments:
    shape = d.shape()
    if d.chance(0.3):
        return [_any(d, shape)], {}
    order = [int(each) for each in np.random.RandomState(d.number).permutation(len(shape))]
    if d.chance(0.05) and order:
        order = order[:-1]
    return [_any(d, shape)], {"perm": order}


def expand(d: Draw) -> Arguments:
    shape = d.shape()
    return [_any(d, shape), d.axis(len(shape) + 1)], {}


def squeeze(d: Draw) -> Arguments:
    shape = [1 if d.chance(0.5) else each for each in d.full_shape(0, 4)]
    if d.chance(0.5) or not shape:
        return [_any(d, shape)], {}
    return [_any(d, shape)], {"axis": d.axis(len(shape)) if d.chance(0.5) else [d.axis(len(shape))]}


def concat(d: Draw) -> Arguments:
    shape = d.full_shape(1, 3)
    axis = d.axis(len(shape))
    dtype = str(d.of("float32", "int32", "bool", "float64"))
    parts = []
    for _ in range(d.whole(1, 3)):
        own = list(shape)
        if -len(shape) <= axis < len(shape):
            own[axis] = d.whole(0 if d.chance(0.1) else 1, 4)
        parts.append(d.array(own, dtype))
    if d.chance(0.05):
        parts.append(d.array(shape, "int64"))
    if d.chance(0.04):
        parts.append(d.array([each + 1 for each in shape], dtype))
    return [parts, axis], {}


def stack(d: Draw) -> Arguments:
    shape, dtype = d.shape(), str(d.of("float32", "int32", "bool"))
    parts = [d.array(shape, dtype) for _ in range(d.whole(1, 4))]
    if d.chance(0.05):
        parts.append(d.array([*shape, 2], dtype))
    return [parts], ({"axis": d.axis(len(shape) + 1)} if d.chance(0.6) else {})


def unstack(d: Draw) -> Arguments:
    shape = d.full_shape(1, 3)
    return [_any(d, shape)], ({"axis": d.axis(len(shape))} if d.chance(0.6) else {})


def split(d: Draw) -> Arguments:
    shape = d.full_shape(1, 3, 6)
    axis = d.whole(-len(shape), len(shape) - 1)
    if d.chance(0.5):
        return [_any(d, shape), d.of(1, 2, 3)], {"axis": axis}
    first = d.whole(0, shape[axis])
    return [_any(d, shape), [first, shape[axis] - first] if d.chance(0.7) else [first, -1]], {"axis": axis}


def tile(d: Draw) -> Arguments:
    shape = d.shape()
    times = [d.whole(0 if d.chance(0.05) else 1, 3) for _ in shape]
    if d.chance(0.04):
        times.append(2)
    return [_any(d, shape), Plain(times) if times else np.zeros([0], np.int32)], {}


def repeat(d: Draw) -> Arguments:
    shape = d.full_shape(1, 3)
    axis = d.whole(-len(shape), len(shape) - 1)
    if d.chance(0.3):
        return [_any(d, shape), d.whole(0, 3)], {}
    times: Any = d.whole(0, 3) if d.chance(0.5) else [d.whole(0, 3) for _ in range(shape[axis])]
    return [_any(d, shape), times], {"axis": axis}


def pad(d: Draw) -> Arguments:
    shape = d.full_shape(1, 3)
    mode = str(d.of("CONSTANT", "CONSTANT", "REFLECT", "SYMMETRIC"))
    most = 2 if mode == "CONSTANT" else 1
    around = [[d.whole(0, most), d.whole(0, most)] for _ in shape]
    kwargs: dict[str, Any] = {"mode": mode} if mode != "CONSTANT" else {}
    if mode == "CONSTANT" and d.chance(0.4):
        kwargs["constant_values"] = d.whole(1, 3)
    return [d.array(shape, str(d.of("float32", "int32"))), around], kwargs


def reverse(d: Draw) -> Arguments:
    shape = d.full_shape(1, 3)
    return [_any(d, shape), [d.axis(len(shape))]], {}


def roll(d: Draw) -> Arguments:
    shape = d.full_shape(1, 3)
    return [_any(d, shape)], {"shift": d.whole(-4, 4), "axis": d.whole(-len(shape), len(shape) - 1)}


def broadcast(d: Draw) -> Arguments:
    shape = d.full_shape(0, 3)
    return [_any(d, d.beside(shape)), Plain(shape) if shape else np.zeros([0], np.int32)], {}


def one_hot(d: Draw) -> Arguments:
    kwargs: dict[str, Any] = {}
    if d.chance(0.3):
        kwargs["dtype"] = Plain(str(d.of("int32", "float64", "bool")))
    elif d.chance(0.3):
        kwargs.update(on_value=5.0, off_value=-1.0)
    shape = d.shape(0, 2)
    if d.chance(0.3):
        kwargs["axis"] = d.whole(-1, len(shape))
    return [d.ints(shape, -1, 5, str(d.of("int32", "int64", "uint8"))) if d.chance(0.9) else d.ints(shape, 0, 3), d.whole(1, 5)], kwargs


def where(d: Draw) -> Arguments:
    shape = d.full_shape(0, 3)
    if d.chance(0.2):
        return [d.bools(shape)], {}
    dtype = str(d.of("float32", "int32", "bool"))
    x = d.array(d.beside(shape), dtype)
    y = d.array(d.beside(shape), dtype if d.chance(0.95) else "float64")
    return [d.bools(shape), x, y], {}


def mask(d: Draw) -> Arguments:
    shape = d.full_shape(1, 3)
    count = d.whole(1, len(shape))
    own = shape[:count]
    if d.chance(0.05):
        own = [each + 1 for each in own]
    return [_any(d, shape), d.bools(own)], {}


def unique(d: Draw) -> Arguments:
    return [d.array([d.whole(0, 8)], str(d.of("int32", "float32", "int64")), 0, 3)], {}


def sort(d: Draw) -> Arguments:
    shape = d.full_shape(1, 3, 6)
    kwargs: dict[str, Any] = {"axis": d.whole(-len(shape), len(shape) - 1)} if d.chance(0.5) else {}
    if d.chance(0.5):
        kwargs["direction"] = Plain(str(d.of("ASCENDING", "DESCENDING")))
    return [d.array(shape, str(d.of("float32", "float64", "int32")), -30, 30)], kwargs


def argsort(d: Draw) -> Arguments:
    args, kwargs = sort(d)
    kwargs["stable"] = True
    return [args[0].astype("float32") if args[0].dtype.kind == "i" else args[0]], kwargs


def gather(d: Draw) -> Arguments:
    shape = d.full_shape(1, 3)
    axis = d.whole(0, len(shape) - 1)
    high = shape[axis] - 1 + (1 if d.chance(0.06) else 0)
    kwargs: dict[str, Any] = {"axis": axis}
    where_ = d.full_shape(0, 2, 3)
    if d.chance(0.2) and axis >= 1:
        kwargs["batch_dims"] = 1
        where_ = [shape[0], *where_]
        high = shape[axis] - 1
    return [_any(d, shape), d.ints(where_, 0, high, str(d.of("int32", "int64")))], kwargs


def gather_nd(d: Draw) -> Arguments:
    shape = d.full_shape(1, 3)
    depth = d.whole(1, len(shape))
    places = np.stack([d.ints([d.whole(1, 1) * 3], 0, shape[i] - 1) for i in range(depth)], -1)
    if d.chance(0.05):
        places = places + 9
    return [_any(d, shape), places], {}


def scatter_nd(d: Draw) -> Arguments:
    shape = d.full_shape(1, 3)
    depth = d.whole(1, len(shape))
    count = d.whole(1, 4)
    places = np.stack([d.ints([count], 0, shape[i] - 1) for i in range(depth)], -1)
    return [places, d.array([count, *shape[depth:]], str(d.of("float32", "int32"))), Plain(shape)], {}


def scatter_into(d: Draw) -> Arguments:
    (places, updates, shape), _ = scatter_nd(d)
    unique_rows = np.unique(places, axis=0)
    return [d.array(shape.value, updates.dtype.name), unique_rows, updates[:len(unique_rows)]], {}


def slices(d: Draw) -> Arguments:
    shape = d.full_shape(1, 3)
    begin = [d.whole(0, each) for each in shape]
    size = [d.whole(0, each - b) if d.chance(0.8) else -1 for each, b in zip(shape, begin)]
    if d.chance(0.04):
        size[0] = shape[0] + 1
    return [_any(d, shape), begin, size], {}


def items(d: Draw) -> Arguments:
    shape = d.full_shape(1, 3, 5)
    key: list[Any] = []
    for each in shape[:d.whole(1, len(shape))]:
        kind = d.whole(0, 4)
        if kind == 0:
            key.append(d.whole(-each, each - 1 + (1 if d.chance(0.1) else 0)))
        elif kind == 1:
            key.append(slice(d.whole(-each, each), d.whole(-each, each)))
        elif kind == 2:
            key.append(slice(None, None, d.of(1, 2, -1, -2)))
        elif kind == 3:
            key.append(slice(d.whole(0, each), None))
        else:
            key.append(slice(None))
    if d.chance(0.2):
        key.insert(d.whole(0, len(key)), None)
    if d.chance(0.2) and len(shape) > len([k for k in key if k is not None]):
        key.insert(0, Ellipsis)
    return [_any(d, shape), Plain(tuple(key))], {}


def sequence_mask(d: Draw) -> Arguments:
    kwargs: dict[str, Any] = {"maxlen": d.whole(1, 5)} if d.chance(0.6) else {}
    if d.chance(0.3):
        kwargs["dtype"] = Plain("float32")
    return [d.ints(d.full_shape(1, 2), 0, 5)], kwargs


def meshgrid(d: Draw) -> Arguments:
    return [d.floats([d.whole(1, 3)]) for _ in range(d.whole(1, 3))], ({"indexing": Plain(str(d.of("ij", "xy")))})


def searchsorted(d: Draw) -> Arguments:
    row = np.sort(d.floats([d.whole(1, 6)]))
    return [row, d.floats([d.whole(1, 4)])], ({"side": Plain("right")} if d.chance(0.5) else {})


def product(d: Draw) -> Arguments:
    lead = d.full_shape(0, 2, 3)
    m, k, n = (d.whole(1, 4) for _ in range(3))
    dtype = str(d.of("float32", "float32", "float64", "int32"))
    flip_a, flip_b = d.chance(0.3), d.chance(0.3)
    inner = k + (1 if d.chance(0.05) else 0)
    a = d.array([*lead, *([k, m] if flip_a else [m, k])], dtype)
    b = d.array([*(lead if d.chance(0.7) else []), *([n, inner] if flip_b else [inner, n])], dtype)
    return [a, b], {"transpose_a": flip_a, "transpose_b": flip_b}


def einsum(d: Draw) -> Arguments:
    a, b, c, e = (d.whole(1, 4) for _ in range(4))
    shapes = {
        "ij,jk->ik": ([a, b], [b, c]), "bij,bjk->bik": ([e, a, b], [e, b, c]), "ij->ji": ([a, b],), "ij->i": ([a, b],),
        "i,i->": ([a], [a]), "i,j->ij": ([a], [b]), "bqhd,bkhd->bhqk": ([a, b, c, e], [a, d.whole(1, 3), c, e]),
        "...ij,jk->...ik": ([e, a, b], [b, c]), "ijk,k->ij": ([a, b, c], [c]),
    }
    equation = str(d.of(*shapes))
    return [Plain(equation), *(d.floats(each) for each in shapes[equation])], {}


def tensordot(d: Draw) -> Arguments:
    k = d.whole(1, 3)
    if d.chance(0.5):
        return [d.floats([d.whole(1, 3), k]), d.floats([k, d.whole(1, 3)]), 1], {}
    return [d.floats([k, 2, 3]), d.floats([3, k, 2]), [[0, 2], [1, 0]]], {}


def square_matrix(d: Draw) -> Arguments:
    n = d.whole(1, 4)
    lead = d.full_shape(0, 1, 3)
    return [d.floats([*lead, n, n]) + 3 * np.eye(n, dtype=np.float32)], {}


def matrix(d: Draw) -> Arguments:
    return [d.array(d.full_shape(2, 3), str(d.of("float32", "int32")))], {}


def vector(d: Draw) -> Arguments:
    return [d.array(d.full_shape(1, 2), str(d.of("float32", "int32")))], {}


def band(d: Draw) -> Arguments:
    return [d.floats(d.full_shape(2, 3)), d.whole(-1, 2), d.whole(-1, 2)], {}


def segments(d: Draw) -> Arguments:
    count = d.whole(1, 6)
    rest = d.full_shape(0, 1, 3)
    return [d.floats([count, *rest]), np.sort(d.ints([count], 0, 3))], {}


def unsorted_segments(d: Draw) -> Arguments:
    count = d.whole(1, 6)
    return [d.floats([count, *d.full_shape(0, 1, 3)]), d.ints([count], 0, 3)], {"num_segments": 4}


def shapes_of(d: Draw) -> Arguments:
    return [_any(d, d.shape())], ({"out_type": Plain("int64")} if d.chance(0.3) else {})


CASES: dict[str, Case] = {
    "zeros": filled, "ones": filled, "fill": fill, "zeros_like": like, "ones_like": like, "range": ranges, "eye": eye,
    "linspace": linspace, "identity": one, "shape": shapes_of, "size": shapes_of, "rank": one, "reshape": reshape,
    "transpose": transpose, "expand_dims": expand, "squeeze": squeeze, "concat": concat, "stack": stack,
    "unstack": unstack, "split": split, "tile": tile, "repeat": repeat, "pad": pad, "reverse": reverse, "roll": roll,
    "broadcast_to": broadcast, "one_hot": one_hot, "where": where, "boolean_mask": mask, "unique": unique,
    "unique_with_counts": unique, "sort": sort, "argsort": argsort, "gather": gather, "gather_nd": gather_nd,
    "scatter_nd": scatter_nd, "tensor_scatter_nd_update": scatter_into, "tensor_scatter_nd_add": scatter_into,
    "tensor_scatter_nd_sub": scatter_into, "tensor_scatter_nd_max": scatter_into, "slice": slices,
    "op getitem": items, "sequence_mask": sequence_mask, "meshgrid": meshgrid, "searchsorted": searchsorted,
    "matmul": product, "einsum": einsum, "tensordot": tensordot, "linalg.inv": square_matrix,
    "linalg.det": square_matrix, "linalg.trace": matrix, "linalg.diag_part": matrix, "linalg.diag": vector,
    "linalg.band_part": band, "linalg.matrix_transpose": matrix, "math.segment_sum": segments,
    "math.segment_mean": segments, "math.segment_max": segments, "math.unsorted_segment_sum": unsorted_segments,
    "math.unsorted_segment_mean": unsorted_segments, "math.unsorted_segment_max": unsorted_segments,
}
