"""Article 000, approach 2: preprocessing on the CPU, with a random change of brightness."""

import numpy as np
import tensorflow as tf

from pictures import folder, make, report

DELTA = 0.2


def create_dataset(image_paths, labels, batch_size):
    dataset = tf.data.Dataset.from_tensor_slices((image_paths, labels))

    def cpu_load_preprocess(image_path, label):
        with tf.device("/cpu:0"):
            image = tf.io.read_file(image_path)
            image = tf.image.decode_jpeg(image, channels=3)
            image = tf.image.resize(image, [64, 64])
            plain = tf.cast(image, tf.float32)
            image = tf.image.random_brightness(image, max_delta=DELTA)
            image = tf.cast(image, tf.float32)
        return plain, image, label

    dataset = dataset.map(cpu_load_preprocess, num_parallel_calls=tf.data.AUTOTUNE)
    return dataset.batch(batch_size).prefetch(tf.data.AUTOTUNE)


paths, labels = make(tf, folder())
dataset = create_dataset(paths, labels, 8)
draws, within = [], []
for epoch in range(12):
    for plain, changed, classes in dataset:
        difference = (changed - plain).numpy()
        draws.extend(difference.mean(axis=(1, 2, 3)))
        within.append(float(np.abs(difference - difference.mean(axis=(1, 2, 3), keepdims=True)).max()))
draws = np.asarray(draws)
assert np.all(np.abs(draws) <= DELTA + 1e-6), draws
assert max(within) < 1e-4, "brightness is the same for all pixels of a picture"
assert len(set(np.round(draws, 6))) > 200, "each element of each epoch has a draw of its own"
assert abs(draws.mean()) < 0.03 and abs(draws.std() - DELTA / np.sqrt(3)) < 0.015, (draws.mean(), draws.std())
report(count=len(draws), largest=round(float(np.abs(draws).max()), 1))
