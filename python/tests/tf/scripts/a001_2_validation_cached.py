"""Article 001: a validation set that is cached, a training set that is not."""

import tensorflow as tf

from pictures import folder, make, report


def load_and_preprocess_image(file_path, image_size):
    image = tf.io.read_file(file_path)
    image = tf.image.decode_jpeg(image, channels=3)
    image = tf.image.resize(image, image_size)
    image = tf.image.convert_image_dtype(image, dtype=tf.float32)
    return image


def create_dataset(file_paths, labels, image_size, batch_size, prefetch_size, cache_flag=True):
    dataset = tf.data.Dataset.from_tensor_slices((file_paths, labels))
    dataset = dataset.map(
        lambda file_path, label: (load_and_preprocess_image(file_path, image_size), label),
        num_parallel_calls=tf.data.AUTOTUNE,
    )
    if cache_flag:
        dataset = dataset.cache()
    dataset = dataset.batch(batch_size)
    return dataset.prefetch(buffer_size=prefetch_size)


image_paths, labels = make(tf, folder())
cut = int(len(image_paths) * 0.8)
training = create_dataset(image_paths[:cut], labels[:cut], (80, 72), 8, tf.data.AUTOTUNE, cache_flag=False)
validation = create_dataset(image_paths[cut:], labels[cut:], (80, 72), 2, tf.data.AUTOTUNE)
for epoch in range(2):
    means = [tf.reduce_mean(images).numpy() for images, _ in validation]
largest = max(tf.reduce_max(images).numpy() for images, _ in training)
assert largest > 100, "floats to floats do not rescale: resize gives 0 to 255"
report(means=means, largest=largest, counts=[len(list(training)), len(list(validation))])
