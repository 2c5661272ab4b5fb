"""Article 000, approach 1: batching and prefetching instead of loading everything."""

import tensorflow as tf

from pictures import folder, make, report


def create_dataset(image_paths, labels, batch_size=32, prefetch_buffer=tf.data.AUTOTUNE):
    dataset = tf.data.Dataset.from_tensor_slices((image_paths, labels))

    def load_and_preprocess(image_path, label):
        image = tf.io.read_file(image_path)
        image = tf.image.decode_jpeg(image, channels=3)
        image = tf.image.resize(image, [96, 128])
        image = tf.cast(image, tf.float32) / 255.0
        return image, label

    dataset = dataset.map(load_and_preprocess, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.batch(batch_size)
    return dataset.prefetch(prefetch_buffer)


paths, labels = make(tf, folder())
dataset = create_dataset(paths, labels, batch_size=10)
shapes, means, seen = [], [], []
for images, classes in dataset:
    with tf.device("/cpu:0"):
        shapes.extend(images.shape)
        means.append(tf.reduce_mean(images, axis=[0, 1, 2]))
        seen.extend(classes.numpy())
first = next(iter(dataset))[0]
report(shapes=shapes, means=tf.stack(means), labels=seen, pixels=first[0, ::16, ::16], spread=tf.math.reduce_std(first))
print(dataset.element_spec)
