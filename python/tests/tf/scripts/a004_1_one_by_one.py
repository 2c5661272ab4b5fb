"""Article 004, example 1: pictures loaded one by one and stacked, then streamed by tf.data."""

import tensorflow as tf

from pictures import folder, make, report


def load_and_resize_images(image_paths, target_size):
    images = []
    for path in image_paths:
        image = tf.io.read_file(path)
        image = tf.image.decode_jpeg(image, channels=3)
        image = tf.image.resize(image, target_size)
        images.append(image)
    return tf.stack(images)


def load_and_preprocess_image(path, target_size):
    image = tf.io.read_file(path)
    image = tf.image.decode_jpeg(image, channels=3)
    return tf.image.resize(image, target_size)


def create_dataset(image_paths, target_size, batch_size):
    dataset = tf.data.Dataset.from_tensor_slices(image_paths)
    dataset = dataset.map(
        lambda path: load_and_preprocess_image(path, target_size), num_parallel_calls=tf.data.AUTOTUNE
    )
    return dataset.batch(batch_size).prefetch(tf.data.AUTOTUNE)


paths, _ = make(tf, folder())
target = (61, 83)
together = load_and_resize_images(paths[:9], target)
batches = list(create_dataset(paths[:9], target, 4))
streamed = tf.concat(batches, axis=0)
for batch in batches:
    print(batch.shape)
report(same=tf.reduce_max(tf.abs(streamed - together)), sums=tf.reduce_sum(together, axis=[1, 2, 3]), corner=together[:, 0, 0])
