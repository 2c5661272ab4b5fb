"""What is read from a variable keeps its value when the variable changes."""

import json

import numpy as np
import tensorflow as tf

v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
READS = {
    "convert": lambda: tf.convert_to_tensor(v), "reshape": lambda: tf.reshape(v, [4]), "row": lambda: v[0],
    "column": lambda: v[:, 1], "all": lambda: v[...], "expand": lambda: tf.expand_dims(v, 0),
    "squeeze": lambda: tf.squeeze(v), "stop": lambda: tf.stop_gradient(v), "slice": lambda: tf.slice(v, [0, 0], [1, 2]),
    "concat": lambda: tf.concat([v], 0), "tile": lambda: tf.tile(v, [1, 1]), "rows": lambda: [row for row in v][0],
    "transpose": lambda: tf.transpose(v), "identity": lambda: tf.identity(v), "unstack": lambda: tf.unstack(v)[1],
    "broadcast": lambda: tf.broadcast_to(v, [2, 2]), "traced": lambda: tf.function(lambda: tf.identity(v))(),
}
found = {}
for name, read in READS.items():
    v.assign([[1.0, 2.0], [3.0, 4.0]])
    kept = read()
    v.assign([[9.0, 9.0], [9.0, 9.0]])
    v.assign_add(tf.ones((2, 2)))
    found[name] = kept.numpy().tolist()

v.assign([[1.0, 2.0], [3.0, 4.0]])
for name in ("reshape", "row", "column", "convert", "transpose"):
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.square(READS[name]()))
    found[f"gradient of {name}"] = tape.gradient(y, v).numpy().tolist()

model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(2, kernel_initializer="ones")])
model.compile("sgd", "mse")
before = [tf.convert_to_tensor(each) for each in model.weights]
flat = [tf.reshape(each, [-1]) for each in model.weights]
model.fit(np.ones((4, 2)), np.zeros((4, 2)), verbose=0)
found["before fit"] = [each.numpy().tolist() for each in before + flat]
found["after fit"] = [each.tolist() for each in model.get_weights()]
print(json.dumps(found))
