"""What people are told to do about memory: sequences, generators, smaller batches, halves, recomputing."""

import gc
import json
import os

import numpy as np
import tensorflow as tf

out = {}
r = np.random.RandomState(0)
x = r.normal(size=(64, 6)).astype("float32")
y = (x[:, 0] > 0).astype("int64")


def build():
    m = tf.keras.Sequential([tf.keras.Input((6,)), tf.keras.layers.Dense(8, activation="relu"),
        tf.keras.layers.Dense(2, activation="softmax")])
    d = np.random.RandomState(1)
    m.set_weights([(d.normal(size=w.shape) * 0.3).astype("float32") if w.ndim > 1 else w for w in m.get_weights()])
    m.compile(tf.keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


class DataGenerator(tf.keras.utils.Sequence):
    def __init__(self, x, y, batch_size=16, shuffle=False, **kwargs):
        super().__init__(**kwargs)
        self.x, self.y, self.batch_size, self.shuffle = (x, y, batch_size, shuffle)
        self.on_epoch_end()

    def __len__(self):
        return int(np.floor(len(self.x) / self.batch_size))

    def __getitem__(self, index):
        idx = self.indexes[index * self.batch_size:(index + 1) * self.batch_size]
        return (self.x[idx], self.y[idx])

    def on_epoch_end(self):
        self.indexes = np.arange(len(self.x))
        self.shuffle and np.random.shuffle(self.indexes)


m = build()
out["seq"] = m.fit(DataGenerator(x, y, workers=1), epochs=2, verbose=0, shuffle=False,
    validation_data=DataGenerator(x[:32], y[:32])).history


def python_generator(batch=16):
    while True:
        for i in range(0, 64, batch):
            yield (x[i:i + batch], y[i:i + batch])


m = build()
out["gen"] = m.fit(python_generator(), steps_per_epoch=4, epochs=2, verbose=0,
    validation_data=(x[:16], y[:16])).history
out["gen_eval"] = [float(v) for v in m.evaluate(python_generator(), steps=4, verbose=0)]
batch_size = 64
while True:
    try:
        if batch_size > 16:
            raise MemoryError
        m = build()
        h = m.fit(x, y, batch_size=batch_size, epochs=1, shuffle=False, verbose=0)
        break
    except (tf.errors.ResourceExhaustedError, MemoryError):
        batch_size //= 2
        tf.keras.backend.clear_session()
        gc.collect()
out["backoff"] = [batch_size, h.history["loss"]]
preds = np.concatenate([m.predict_on_batch(x[i:i + 10]) for i in range(0, 64, 10)])
out["chunks"] = float(np.abs(preds - m.predict(x, batch_size=7, verbose=0)).max()) < 1e-05
big = tf.data.Dataset.from_generator(lambda: ((x[i].astype("float16"), y[i]) for i in range(64)),
    output_signature=(tf.TensorSpec((6,), tf.float16), tf.TensorSpec((), tf.int64))).map(lambda a,
    b: (tf.cast(a, tf.float32), b)).batch(16).prefetch(1)
m = build()
out["half"] = m.fit(big.repeat(), steps_per_epoch=4, epochs=2, verbose=0).history["loss"]
w1 = tf.Variable(r.normal(size=(6, 5)).astype("float32"))
w2 = tf.Variable(r.normal(size=(5, 1)).astype("float32"))
block = tf.recompute_grad(lambda t: tf.nn.relu(t @ w1))
with tf.GradientTape() as tape:
    loss = tf.reduce_mean((block(tf.constant(x)) @ w2) ** 2)
g = tape.gradient(loss, [w1, w2])
out["recompute"] = [float(loss), float(tf.norm(g[0])), float(tf.norm(g[1]))]
total = 0.0
for step, (xb, yb) in enumerate(tf.data.Dataset.from_tensor_slices((x, y)).batch(16)):
    with tf.GradientTape() as tape:
        l = tf.reduce_mean(tf.keras.losses.sparse_categorical_crossentropy(yb, m(xb, training=True)))
    total += float(l)
    del tape
out["total"] = total
opt = tf.keras.optimizers.Adam(0.01, gradient_accumulation_steps=2)
m = build()
m.compile(opt, "sparse_categorical_crossentropy")
out["accumulate"] = m.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0).history["loss"]
m = build()
m.compile("adam", "sparse_categorical_crossentropy", steps_per_execution=4, jit_compile=False)
out["spe"] = m.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0).history["loss"]
mm = np.lib.format.open_memmap(os.path.join("/tmp", f"mm{os.getpid()}.npy"), mode="w+", dtype="float32",
    shape=(64, 6))
mm[:] = x
m = build()
out["memmap"] = m.fit(mm, y, epochs=1, batch_size=16, shuffle=False, verbose=0).history["loss"]
os.remove(mm.filename)
for i in range(3):
    tf.keras.backend.clear_session()
    model = build()
    model.fit(x, y, epochs=1, verbose=0)
    del model
    gc.collect()
out["summary_mem"] = int(sum((np.prod(v.shape) * 4 for v in m.trainable_variables)))
print(json.dumps(out))
