"""Gradients of rows: tables read by layers, gather and lookups, clipped in loops and by optimizers."""

import json

import numpy as np
import tensorflow as tf

keras = tf.keras
ids = np.array([[1, 1, 2], [1, 3, 3]])
found = {}


def built():
    return keras.Sequential([
        keras.Input((3,)), keras.layers.Embedding(5, 2, embeddings_initializer="ones"), keras.layers.Flatten(),
        keras.layers.Dense(1, kernel_initializer="ones")])


def steps(model, change, optimizer):
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(ids) - 1.0))
        gradients = change(tape.gradient(loss, model.trainable_variables))
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return model.get_weights()[0].tolist()


CHANGES = {
    "as they are": lambda g: g, "together": lambda g: tf.clip_by_global_norm(g, 1.0)[0],
    "each": lambda g: [tf.clip_by_norm(each, 0.5) for each in g],
    "summed": lambda g: [tf.convert_to_tensor(each) * 1.0 for each in g],
}
for name, change in CHANGES.items():
    found[name] = [steps(built(), change, optimizer) for optimizer in (
        keras.optimizers.Adam(0.1), keras.optimizers.RMSprop(0.1), keras.optimizers.Adagrad(0.1))]
for optimizer in (keras.optimizers.Adam(0.1, clipnorm=0.5), keras.optimizers.Adam(0.1, amsgrad=True),
                  keras.optimizers.Nadam(0.1), keras.optimizers.SGD(0.1, momentum=0.9)):
    found.setdefault("optimizers", []).append(steps(built(), CHANGES["as they are"], optimizer))
for name, options in (("clipped in fit", {"clipnorm": 0.5}), ("in fit", {})):
    model = built()
    model.compile(keras.optimizers.Adam(0.1, **options), "mse")
    model.fit(ids, np.ones((2, 1)), epochs=3, verbose=0)
    found[name] = model.get_weights()[0].tolist()

READS = {
    "gather": lambda v: tf.gather(v, [0, 0, 2]), "lookup": lambda v: tf.nn.embedding_lookup(v, [[0, 1], [1, 1]]),
    "both": lambda v: tf.concat([tf.gather(v, [0, 0]), tf.nn.embedding_lookup(v, [0, 3])], 0),
    "and as a whole": lambda v: tf.concat([tf.gather(v, [0, 0]), v], 0), "by slices": lambda v: v[:2],
}
for name, read in READS.items():
    table, adam = tf.Variable(np.arange(8.0).reshape(4, 2) * 0.1 + 0.3, dtype=tf.float32), keras.optimizers.Adam(0.1)
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sin(read(table) * 3.0))
        gradient = tape.gradient(loss, table)
        found.setdefault("norms", []).append(float(tf.linalg.global_norm([gradient])))
        adam.apply_gradients([(gradient, table)])
    found[name] = table.numpy().tolist()
print(json.dumps(found))
