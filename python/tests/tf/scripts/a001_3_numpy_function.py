"""Article 001: an augmentation in NumPy, in the middle of a pipeline, on the CPU."""

import numpy as np
import tensorflow as tf

from pictures import folder, make, report


def cpu_based_augmentation(image):
    image = np.array(image)
    image = image + np.random.uniform(-10, 10, image.shape)
    return tf.convert_to_tensor(image, dtype=tf.float32)


def load(file_path, image_size):
    image = tf.io.read_file(file_path)
    image = tf.image.decode_jpeg(image, channels=3)
    image = tf.image.resize(image, image_size)
    plain = tf.image.convert_image_dtype(image, dtype=tf.float32)
    with tf.device("/CPU:0"):
        image = tf.numpy_function(func=cpu_based_augmentation, inp=[plain], Tout=tf.float32)
    return plain, image


paths, labels = make(tf, folder())
dataset = tf.data.Dataset.from_tensor_slices((paths, labels))
dataset = dataset.map(lambda path, label: (*load(path, (48, 40)), label), num_parallel_calls=tf.data.AUTOTUNE)
dataset = dataset.batch(6).prefetch(tf.data.AUTOTUNE)
noise, means = [], []
for plain, changed, _ in dataset:
    assert changed.shape == plain.shape
    noise.append((changed - plain).numpy())
    means.append(tf.reduce_mean(plain).numpy())
noise = np.concatenate(noise)
assert np.abs(noise).max() <= 10.01 and abs(noise.mean()) < 0.2 and abs(noise.std() - 20 / np.sqrt(12)) < 0.1
report(means=means, shape=noise.shape)
