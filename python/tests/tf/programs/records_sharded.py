"""Examples in several TFRecord files, read by turns and parsed: pictures, tensors, lists of any length."""

import json
import os
import tempfile

import numpy as np
import tensorflow as tf


def _bytes_feature(value):
    if isinstance(value, type(tf.constant(0))):
        value = value.numpy()
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def _float_feature(value):
    return tf.train.Feature(float_list=tf.train.FloatList(value=value))


def _int64_feature(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


folder = tempfile.mkdtemp()
r = np.random.RandomState(0)
n, shards = (23, 3)
for s in range(shards):
    with tf.io.TFRecordWriter(os.path.join(folder, f"train-{s:05d}-of-{shards:05d}.tfrecord")) as writer:
        for i in range(s, n, shards):
            image = r.randint(0, 255, size=(4, 5, 3)).astype("uint8")
            feature = {"image/encoded": _bytes_feature(tf.io.encode_png(image)),
                "image/raw": _bytes_feature(tf.io.serialize_tensor(image.astype("float32"))),
                "label": _int64_feature(i), "weights": _float_feature(r.rand(3).tolist()),
                "words": tf.train.Feature(int64_list=tf.train.Int64List(value=list(range(i % 4)))),
                "name": _bytes_feature(f"item {i}".encode("utf-8"))}
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
description = {"image/encoded": tf.io.FixedLenFeature([], tf.string),
    "image/raw": tf.io.FixedLenFeature([], tf.string, default_value=""),
    "label": tf.io.FixedLenFeature([], tf.int64, default_value=0),
    "weights": tf.io.FixedLenFeature([3], tf.float32), "words": tf.io.VarLenFeature(tf.int64),
    "name": tf.io.FixedLenFeature([], tf.string)}


def parse(record):
    ex = tf.io.parse_single_example(record, description)
    image = tf.io.decode_png(ex["image/encoded"], channels=3)
    image = tf.image.convert_image_dtype(image, tf.float32)
    raw = tf.ensure_shape(tf.io.parse_tensor(ex["image/raw"], out_type=tf.float32), (4, 5, 3))
    words = tf.sparse.to_dense(ex["words"])
    return ({"image": image, "diff": tf.reduce_max(tf.abs(image * 255.0 - raw)), "words": words,
        "name": ex["name"], "w": ex["weights"]}, tf.cast(ex["label"], tf.int32))


files = tf.data.Dataset.list_files(os.path.join(folder, "train-*.tfrecord"), shuffle=False)
ds = files.interleave(lambda f: tf.data.TFRecordDataset(f), cycle_length=3, block_length=2,
    num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
ds = ds.map(parse, num_parallel_calls=tf.data.AUTOTUNE)
out = {"spec": [str(ds.element_spec[0][k].shape) for k in sorted(ds.element_spec[0])]}
batches = list(ds.padded_batch(8, padded_shapes=({"image": [4, 5, 3], "diff": [], "words": [None], "name": [],
    "w": [3]}, [])))
out["labels"] = [b[1].numpy().tolist() for b in batches]
out["words"] = [b[0]["words"].numpy().tolist() for b in batches]
out["diff"] = max((float(tf.reduce_max(b[0]["diff"])) for b in batches))
out["sum"] = float(sum((tf.reduce_sum(b[0]["image"]) for b in batches)))
out["names"] = [x.decode() for x in batches[0][0]["name"].numpy()]
raw = tf.data.TFRecordDataset(sorted(tf.io.gfile.glob(os.path.join(folder, "*.tfrecord"))),
    num_parallel_reads=1)
parsed = tf.io.parse_example(next(iter(raw.batch(5))),
    {"label": description["label"], "words": tf.io.VarLenFeature(tf.int64)})
parsed["rag"] = tf.io.parse_example(next(iter(raw.batch(5))),
    {"rag": tf.io.RaggedFeature(tf.int64, value_key="words")})["rag"]
out["sparse"] = [parsed["words"].indices.numpy().tolist(), parsed["words"].values.numpy().tolist(),
    parsed["words"].dense_shape.numpy().tolist()]
out["ragged"] = parsed["rag"].to_list()
ex = tf.train.Example.FromString(next(iter(raw)).numpy())
out["example"] = [sorted(ex.features.feature), ex.features.feature["label"].int64_list.value[0],
    ex.features.feature["name"].bytes_list.value[0].decode()]
ex2 = tf.train.Example()
ex2.ParseFromString(next(iter(raw)).numpy())
out["has"] = "label" in ex2.features.feature
print(json.dumps(out))
