#!/usr/bin/env python3
"""Records what tf.data makes of small pipelines, for tests/data/recorded_stages_test.cpp.

A case is a list of stages in a form of their own, ["batch", 3, false], which tests/data/words.h
reads, too. Writes recorded/stages.json, a case per line. Run in an environment of its own:

    python3 -m venv .venv-tf && .venv-tf/bin/pip install tensorflow-cpu
    .venv-tf/bin/python tests/data/record/record_stages.py
"""
import itertools
import json
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import tensorflow as tf

OUT = pathlib.Path(__file__).resolve().parent.parent / "recorded" / "stages.json"
Dataset = tf.data.Dataset
LIMIT = 40
DTYPES = {"int64": "i64", "int32": "i32", "float32": "f32", "string": "bytes", "bool": "bool",
          "uint8": "u8"}
TF_DTYPES = {ours: theirs for theirs, ours in DTYPES.items()}


# The words.

def ragged(n, length):
    return tf.fill([length], n)


def texts(n):
    return tf.map_fn(lambda i: tf.strings.as_string(n) + "." + tf.strings.as_string(i),
                     tf.range(n % 3), fn_output_signature=tf.string)


def matrix(n):
    return tf.reshape(tf.range((n % 3 + 1) * (n % 2 + 1)) + 10 * n, [n % 3 + 1, n % 2 + 1])


def fails(n):
    with tf.control_dependencies([tf.debugging.assert_none_equal(n % 5, tf.constant(3, tf.int64))]):
        return tf.identity(n)


MAPS = {
    "plus1": lambda n: n + 1,
    "square": lambda n: n * n,
    "pair": lambda n: (n, 10 * n),
    "half": lambda n: tf.cast(n, tf.float32) / 2,
    "even": lambda n: n % 2 == 0,
    "row": lambda n: 10 * n + tf.range(3, dtype=tf.int64),
    "ragged": lambda n: ragged(n, n % 4),
    "ragged1": lambda n: ragged(n, n % 4 + 1),
    "matrix": matrix,
    "text": lambda n: tf.strings.as_string(n),
    "texts": texts,
    "ragged_and_text": lambda n: (ragged(n, n % 3 + 1), tf.strings.as_string(n)),
    "fails": fails,
    "sum": lambda rows: tf.reduce_sum(rows),
}
FILTERS = {
    "odd": lambda n, *_: n % 2 == 1,
    "small": lambda n, *_: n < 4,
    "none": lambda n, *_: n < 0,
    "all": lambda n, *_: n >= 0,
}
INNERS = {
    "upto": lambda n: Dataset.range(n),
    "mod": lambda n: Dataset.range(n % 3).map(lambda x: 10 * n + x),
    "two": lambda n: Dataset.range(2).map(lambda x: 10 * n + x),
    "none": lambda n: Dataset.range(0),
    "batched": lambda n: Dataset.range(n).batch(2),
    "endless": lambda n: Dataset.range(n, n + 1).repeat(),
    "nested": lambda n: Dataset.range(n % 4).flat_map(lambda m: Dataset.range(m).map(lambda x: 10 * m + x)),
}


def constant(column):
    dtype, shape, values = column
    return tf.reshape(tf.constant(values, dtype=TF_DTYPES[dtype]), shape)


def window(ds, size, shift, stride, drop):
    def together(*parts):
        return (parts[0] if len(parts) == 1 else Dataset.zip(parts)).batch(size)
    return ds.window(size, shift, stride, drop).flat_map(together)


def padded(ds, size, shapes, values, drop):
    flat = tf.nest.flatten(ds.element_spec)
    def like(items):
        return items[0] if len(flat) == 1 else tuple(items)
    shapes = None if shapes is None else like([[None if d == -1 else d for d in s] for s in shapes])
    values = None if values is None else like(
        [tf.constant(v, spec.dtype) for v, spec in zip(values, flat)])
    return ds.padded_batch(size, shapes, values, drop)


STAGES = {
    "batch": lambda ds, n, drop: ds.batch(n, drop_remainder=drop),
    "padded_batch": padded,
    "unbatch": lambda ds: ds.unbatch(),
    "map": lambda ds, f: ds.map(MAPS[f]),
    "filter": lambda ds, f: ds.filter(FILTERS[f]),
    "flat_map": lambda ds, f: ds.flat_map(INNERS[f]),
    "interleave": lambda ds, f, cycle, block: ds.interleave(
        INNERS[f], cycle_length=cycle, block_length=block),
    "window": window,
    "concatenate": lambda ds, other: ds.concatenate(build(other)),
    "take": lambda ds, n: ds.take(n),
    "skip": lambda ds, n: ds.skip(n),
    "repeat": lambda ds, n: ds.repeat(n),
    "shard": lambda ds, n, i: ds.shard(n, i),
    "enumerate": lambda ds, n: ds.enumerate(n),
    "cache": lambda ds: ds.cache(),
    "prefetch": lambda ds, n: ds.prefetch(n),
    "shuffle": lambda ds, n, seed, each: ds.shuffle(n, seed=seed, reshuffle_each_iteration=each),
    "ignore_errors": lambda ds: ds.ignore_errors(),
}


def build(stages):
    (kind, *arguments), *rest = stages
    if kind == "range":
        ds = Dataset.range(*arguments)
    elif kind == "slices":
        columns = [constant(column) for column in arguments]
        ds = Dataset.from_tensor_slices(columns[0] if len(columns) == 1 else tuple(columns))
    elif kind == "zip":
        ds = Dataset.zip(tuple(build(each) for each in arguments))
    for kind, *arguments in rest:
        ds = STAGES[kind](ds, *arguments)
    return ds


# What comes out.

def value_text(value):
    dtype = DTYPES[value.dtype.name]
    def one(item):
        if dtype == "bytes":
            return "'" + item.decode() + "'"
        if dtype == "bool":
            return "true" if item else "false"
        return format(float(item), "g") if dtype == "f32" else str(int(item))
    shape = "" if value.shape.rank == 0 else "[" + ",".join(map(str, value.shape)) + "]"
    items = value.numpy().reshape(-1).tolist() if value.shape.rank else [value.numpy()]
    return " ".join([dtype + shape] + [one(item) for item in items])


def record(stages, **more):
    case = {"pipe": stages, **more}
    out = []
    try:
        ds = build(stages)
        case["cardinality"] = int(ds.cardinality())
        case["spec"] = [[DTYPES[s.dtype.name],
                         None if s.shape.rank is None else [-1 if d is None else d for d in s.shape]]
                        for s in tf.nest.flatten(ds.element_spec)]
        for element in ds:
            if len(out) == LIMIT:
                case["more"] = True
                break
            out.append("; ".join(value_text(v) for v in tf.nest.flatten(element)))
    except (tf.errors.OpError, ValueError, TypeError) as error:
        case["error"] = type(error).__name__
    case["out"] = out
    return case


# The cases.

def singles():
    """Every stage on inputs of none, one, some and many elements."""
    stages = [["batch", n, drop] for n in (1, 2, 3, 7) for drop in (False, True)]
    stages += [["padded_batch", 3, None, None, drop] for drop in (False, True)]
    stages += [["map", f] for f in MAPS if f != "sum"]
    stages += [["filter", f] for f in FILTERS]
    stages += [["flat_map", f] for f in INNERS if f != "endless"]
    stages += [["window", *w] for w in ((3, 3, 1), (3, 1, 1), (2, 3, 1), (3, 1, 2), (2, 5, 3),
                                        (4, 2, 1)) for w in ((*w, False), (*w, True))]
    stages += [["take", n] for n in (-1, 0, 1, 3, 100)] + [["skip", n] for n in (-1, 0, 1, 3, 100)]
    stages += [["repeat", n] for n in (0, 1, 2)] + [["shard", n, i] for n, i in ((1, 0), (2, 1), (3, 2))]
    stages += [["enumerate", 0], ["enumerate", 5], ["cache"], ["prefetch", 2], ["ignore_errors"]]
    for n, stage in itertools.product((0, 1, 5, 12), stages):
        yield [["range", 0, n, 1], stage]


def pairs():
    """Each stage after each other one."""
    some = [["batch", 2, False], ["batch", 3, True], ["map", "plus1"], ["filter", "odd"],
            ["flat_map", "mod"], ["interleave", "mod", 2, 1], ["take", 4], ["skip", 2],
            ["repeat", 2], ["shard", 2, 0], ["enumerate", 1], ["cache"], ["prefetch", 1],
            ["window", 3, 2, 1, False], ["concatenate", [["range", 20, 23, 1]]], ["unbatch"]]
    numbers = {"map", "filter", "flat_map", "interleave", "concatenate"}  # want plain numbers
    tensors = {"batch", "window", "enumerate"}
    for first, second in itertools.product(some, some):
        if first[0] in tensors and second[0] in numbers:
            continue
        if second[0] == "unbatch" and first[0] not in ("batch", "window"):
            continue
        if first[0] != "unbatch":
            yield [["range", 0, 7, 1], first, second]


def interleaves():
    for n, f, cycle, block in itertools.product((1, 6), ("upto", "mod", "two", "none", "nested"),
                                                (1, 2, 3, 9), (1, 2, 4)):
        yield [["range", 0, n, 1], ["interleave", f, cycle, block]]
    for cycle, block in itertools.product((1, 2, 3), (1, 2)):
        yield [["range", 0, 3, 1], ["interleave", "endless", cycle, block], ["take", 9]]
        yield [["range", 0, 0, 1], ["interleave", "upto", cycle, block]]
        yield [["range", 5, 0, -1], ["interleave", "upto", cycle, block], ["repeat", 2], ["batch", 4, False]]
        yield [["range", 0, 5, 1], ["filter", "odd"], ["interleave", "two", cycle, block], ["skip", 1]]


def paddings():
    for f, drop in itertools.product(("ragged", "ragged1", "matrix", "text", "texts", "row",
                                      "ragged_and_text", "pair"), (False, True)):
        yield [["range", 0, 8, 1], ["map", f], ["padded_batch", 3, None, None, drop]]
    for f, shapes, values in (("ragged", [[-1]], [7]), ("ragged", [[5]], None), ("ragged", [[5]], [-1]),
                              ("ragged", [[2]], None), ("ragged1", [[3]], None), ("matrix", [[3, -1]], [9]),
                              ("matrix", [[-1, 4]], None), ("matrix", [[2, 2]], None),
                              ("texts", [[-1]], ["x"]), ("texts", [[3]], None), ("row", [[5]], [1]),
                              ("ragged_and_text", [[-1], []], [4, "y"]), ("ragged_and_text", [[4], []], None),
                              ("row", [[2]], None), ("row", [[-1, -1]], None), ("ragged", [[-1, 2]], None)):
        yield [["range", 0, 7, 1], ["map", f], ["padded_batch", 2, shapes, values, False]]
    yield [["range", 0, 9, 1], ["map", "ragged1"], ["padded_batch", 2, None, None, False],
           ["padded_batch", 2, None, None, False]]
    yield [["range", 0, 9, 1], ["map", "ragged1"], ["filter", "none"]][:2] + [["take", 0], ["padded_batch", 4, None, None, False]]
    yield [["range", 0, 9, 1], ["map", "ragged1"], ["padded_batch", 4, None, None, False], ["unbatch"]]


def sources():
    pair = ["slices", ["i64", [4], [4, 5, 6, 7]], ["f32", [4, 2], [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5]]]
    text = ["slices", ["bytes", [3], ["a", "", "ccc"]]]
    cube = ["slices", ["u8", [5, 2, 2], list(range(20))]]
    flags = ["slices", ["bool", [3], [True, False, True]], ["i32", [3], [1, -2, 3]]]
    nothing = ["slices", ["f32", [0, 3], []]]
    for source in (pair, text, cube, flags, nothing):
        yield [source]
        for stage in (["batch", 2, False], ["batch", 2, True], ["repeat", 2], ["enumerate", 0], ["cache"],
                      ["skip", 1], ["shard", 2, 1], ["window", 2, 1, 1, False], ["window", 2, 1, 1, True],
                      ["padded_batch", 2, None, None, False]):
            yield [source, stage]
    for source in (pair, cube):
        yield [source, ["unbatch"]]
        yield [source, ["batch", 3, False], ["unbatch"]]
        yield [source, ["batch", 2, False], ["batch", 2, False]]
        yield [source, ["batch", 2, False], ["batch", 2, True]]
    for a, b, step in ((0, 0, 1), (5, 0, 1), (2, 11, 3), (9, 0, -2), (-3, 3, 2), (0, 3, -1)):
        yield [["range", a, b, step]]
        yield [["range", a, b, step], ["batch", 2, False], ["map", "sum"]]


def joins():
    ten, three, none = [["range", 0, 10, 1]], [["range", 5, 8, 1]], [["range", 0, 0, 1]]
    endless = three + [["repeat", -1]]
    odd = ten + [["filter", "odd"]]
    batches = ten + [["batch", 3, False]]
    texts_of = ten + [["map", "text"]]
    for a, b in itertools.product((ten, three, none, endless, odd, batches, texts_of), repeat=2):
        yield [["zip", a, b]]
    yield [["zip", ten, three, odd]]
    yield [["zip", endless, endless], ["take", 4]]
    yield [["zip", ten, ten], ["batch", 4, False], ["unbatch"]]
    yield [["zip", ten, texts_of], ["window", 3, 2, 1, True]]
    for a, b in itertools.product((ten, three, none, odd, batches), repeat=2):
        yield a + [["concatenate", b]]
    yield ten + [["concatenate", endless], ["take", 17]]
    yield ten + [["concatenate", three], ["concatenate", three], ["repeat", 2], ["batch", 4, True]]
    yield ten + [["concatenate", texts_of]]
    yield ten + [["batch", 3, False], ["concatenate", ten + [["batch", 4, True]]]]


def repeats():
    for inner, outer in itertools.product((0, 1, 2, -1), repeat=2):
        yield [["range", 0, 3, 1], ["repeat", inner], ["repeat", outer], ["take", 10]]
    for stage in (["batch", 4, False], ["batch", 4, True], ["window", 4, 3, 1, False], ["filter", "odd"],
                  ["skip", 4], ["skip", -1], ["shard", 4, 1], ["enumerate", 0], ["flat_map", "upto"], ["take", 3], ["take", 0]):
        yield [["range", 0, 3, 1], ["repeat", -1], stage, ["take", 9]]
        yield [["range", 0, 3, 1], stage, ["repeat", -1], ["take", 9]]
        yield [["range", 0, 3, 1], ["take", 2], ["repeat", 3], stage]
    yield [["range", 0, 0, 1], ["repeat", -1]]
    yield [["range", 0, 5, 1], ["filter", "none"], ["repeat", 2]]
    yield [["range", 0, 6, 1], ["repeat", -1]]
    yield [["range", 0, 6, 1], ["cache"], ["repeat", 3], ["skip", 4]]
    yield [["range", 0, 6, 1], ["cache"], ["take", 4], ["repeat", 2]]


def errors():
    for f in ("ragged", "matrix", "texts"):
        for n in (2, 3):
            yield [["range", 0, 6, 1], ["map", f], ["batch", n, False]]
            yield [["range", 0, 6, 1], ["map", f], ["window", n, 1, 1, False]]
    yield [["range", 0, 6, 1], ["unbatch"]]
    for stage in (["batch", 2, False], ["filter", "odd"], ["repeat", 2], ["prefetch", 2], ["enumerate", 0], ["skip", 2],
                  ["take", 3], ["take", 5], ["cache"], ["flat_map", "mod"], ["shard", 2, 0], ["padded_batch", 2, None, None, False]):
        yield [["range", 0, 7, 1], ["map", "fails"], stage]
        yield [["range", 0, 17, 1], ["map", "fails"], ["ignore_errors"], stage]
    yield [["range", 0, 6, 1], ["batch", 0, False]]
    yield [["range", 0, 6, 1], ["shard", 3, 3]]
    yield [["range", 0, 6, 1], ["shard", 0, 0]]
    yield [["range", 0, 6, 0]]
    for w in ((0, 1, 1), (2, 0, 1), (2, 1, 0)):
        yield [["range", 0, 6, 1], ["window", *w, False]]


def shuffles():
    """Which element goes out when is nobody's promise: the test looks at properties. Component 0 is
    the element's place in a chunk of the unshuffled stream."""
    for n, size, each in itertools.product((0, 1, 25, 40), (1, 4, 24, 100), (True, False)):
        if n * 2 <= LIMIT or n == 40:
            yield {"chunk": n, "window": size}, [["range", 0, n, 1], ["shuffle", size, 3, each]]
    for size, each in itertools.product((1, 5, 20, 50), (True, False)):
        yield {"chunk": 20, "window": size, "reshuffled": each}, [
            ["range", 0, 20, 1], ["shuffle", size, 3, each], ["repeat", 2]]
        yield {"chunk": 40, "window": size}, [
            ["range", 0, 20, 1], ["repeat", 2], ["enumerate", 0], ["shuffle", size, 3, each]]
        yield {"chunk": 13, "window": size, "reshuffled": each}, [
            ["range", 0, 13, 1], ["shuffle", size, 3, each], ["repeat", -1], ["take", 39]]


def main():
    plain = [*singles(), *pairs(), *interleaves(), *paddings(), *sources(), *joins(), *repeats(), *errors()]
    seen = set()
    cases = []
    for stages in plain:
        key = json.dumps(stages)
        if key not in seen:
            seen.add(key)
            cases.append(record(stages))
    cases += [record(stages, shuffled=facts) for facts, stages in shuffles()]
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    OUT.write_text('{"tensorflow":"' + tf.__version__ + '","limit":' + str(LIMIT) + ',"cases":[\n'
                   + lines + "\n]}\n")
    print(len(cases), "cases,", OUT.stat().st_size, "bytes,", sum("error" in c for c in cases), "with errors")


if __name__ == "__main__":
    main()
