"""Article 000, approach 3: a cache on disk, shuffling after it, and shards."""

import os
import tempfile

import numpy as np
import tensorflow as tf

from pictures import folder, make, report


def create_cached_dataset(image_paths, labels, batch_size, cache_path):
    dataset = tf.data.Dataset.from_tensor_slices((image_paths, labels))

    def load_and_preprocess(image_path, label):
        image = tf.io.read_file(image_path)
        image = tf.image.decode_jpeg(image, channels=3)
        image = tf.image.resize(image, [56, 56])
        image = tf.cast(image, tf.float32) / 255.0
        return image, label

    dataset = dataset.map(load_and_preprocess, num_parallel_calls=tf.data.AUTOTUNE)
    if cache_path:
        os.makedirs(cache_path, exist_ok=True)
        dataset = dataset.cache(os.path.join(cache_path, "elements"))
    dataset = dataset.shuffle(buffer_size=1024).batch(batch_size)
    return dataset.prefetch(tf.data.AUTOTUNE)


paths, labels = make(tf, folder())
with tempfile.TemporaryDirectory() as scratch:
    dataset = create_cached_dataset(paths, labels, 7, os.path.join(scratch, "my_dataset_cache"))
    epochs = []
    for epoch in range(3):
        rows = [row for images, _ in dataset for row in images.numpy().mean(axis=(1, 2, 3))]
        epochs.append(rows)
    assert os.path.exists(os.path.join(scratch, "my_dataset_cache"))
    orders = {tuple(np.round(each, 6)) for each in epochs}
    assert len(orders) > 1, "each epoch has an order of its own"
    report(sums=[np.sort(each).sum() for each in epochs], rows=np.sort(epochs[0]))

shards = [
    [label for label in tf.data.Dataset.from_tensor_slices(labels).shard(3, i).as_numpy_iterator()] for i in range(3)
]
report(shards=np.concatenate(shards), sizes=[len(each) for each in shards])
