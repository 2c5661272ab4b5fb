"""Pictures in TFRecord files, parsed, decoded and classified."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


import os
import tempfile

folder = tempfile.mkdtemp()


def bytes_feature(value):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


for shard in range(2):
    with tf.io.TFRecordWriter(os.path.join(folder, f"part-{shard}.tfrecord")) as writer:
        for i in range(12):
            label = (shard * 12 + i) % 3
            picture = rng.randint(0, 150, (8, 8, 3)).astype(np.uint8)
            picture[:, :, label] += 80
            example = tf.train.Example(features=tf.train.Features(feature={
                "image": bytes_feature(tf.io.encode_png(picture).numpy()),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
                "weight": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5 + label]))}))
            writer.write(example.SerializeToString())

spec = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64),
        "weight": tf.io.FixedLenFeature([], tf.float32, default_value=1.0)}


def parse(serialized):
    example = tf.io.parse_single_example(serialized, spec)
    image = tf.io.decode_png(example["image"], channels=3)
    image = tf.image.convert_image_dtype(image, tf.float32)
    image = tf.image.resize(image, [6, 6])
    return image, example["label"], example["weight"]


files = tf.data.Dataset.list_files(os.path.join(folder, "*.tfrecord"), shuffle=False)
dataset = files.interleave(tf.data.TFRecordDataset, cycle_length=2).map(parse, num_parallel_calls=tf.data.AUTOTUNE)
dataset = dataset.apply(tf.data.experimental.assert_cardinality(24))
batches = dataset.batch(6).prefetch(tf.data.AUTOTUNE)
model = tf.keras.Sequential([
    tf.keras.Input((6, 6, 3)), tf.keras.layers.Conv2D(4, 3, activation="relu"), tf.keras.layers.MaxPooling2D(),
    tf.keras.layers.Flatten(), tf.keras.layers.Dense(3)])
fix(model)
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), weighted_metrics=["accuracy"])
history = model.fit(batches, epochs=4, verbose=0)
first = next(iter(batches))
print(json.dumps({"history": history.history, "labels": first[1].numpy().tolist(), "weights": first[2].numpy().tolist(),
                  "mean": float(tf.reduce_mean(first[0])), "count": sum(1 for _ in dataset)}))
