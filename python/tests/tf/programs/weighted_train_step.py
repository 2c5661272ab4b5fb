"""Steps of one's own with weights for each sample, and a student that learns from a teacher's outputs."""

import json

import numpy as np
import tensorflow as tf

layers = tf.keras.layers

rng = np.random.RandomState(0)


class Weighted(tf.keras.Model):
    def train_step(self, data):
        x, y, weight = data if len(data) == 3 else (*data, None)
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=weight)
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss)
            else:
                metric.update_state(y, y_pred, sample_weight=weight)
        return {m.name: m.result() for m in self.metrics}


def built(cls):
    inputs = tf.keras.Input(shape=(6,))
    return cls(inputs, layers.Dense(1, kernel_initializer=tf.keras.initializers.Constant(0.1))(inputs))


x, y, weight = rng.normal(size=(40, 6)), rng.normal(size=(40, 1)), rng.uniform(size=(40, 1))
found = {}
for name, cls in (("own", Weighted), ("plain", tf.keras.Model)):
    model = built(cls)
    model.compile("adam", "mse", metrics=["mae"])
    found[name] = model.fit(x, y, sample_weight=weight, epochs=3, batch_size=10, shuffle=False, verbose=0).history
    found[name + ", evaluated"] = model.evaluate(x, y, sample_weight=weight, verbose=0)
found = {key: {k: [float(np.mean(e)) for e in v] for k, v in value.items()} if isinstance(value, dict) else value
         for key, value in found.items()}
mse = tf.keras.losses.MeanSquaredError()
found["direct"] = [float(mse(y, y * 0.5, sample_weight=w)) for w in (weight, weight[:, 0])]

model = built(tf.keras.Model)  # what is not given to compile() again stays
model.compile("sgd", "mse", metrics=["mae"])
model.compile(tf.keras.optimizers.SGD(0.1))
found["compiled again"] = model.fit(x, y, epochs=2, batch_size=10, shuffle=False, verbose=0).history


class Positives(tf.keras.metrics.Metric):
    """Its result is its variable, which the next epoch changes."""

    def __init__(self, name="positives", **kwargs):
        super().__init__(name=name, **kwargs)
        self.count = self.add_variable(shape=(), initializer="zeros", name="count")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.count.assign_add(tf.reduce_sum(tf.cast(y_pred > 0.2, tf.float32)))

    def result(self):
        return self.count


model = built(tf.keras.Model)
model.compile(tf.keras.optimizers.SGD(0.3), "mse", metrics=[Positives(), tf.keras.metrics.R2Score()])
found["positives"] = model.fit(x, y, epochs=3, batch_size=10, shuffle=False, verbose=0).history
r2 = tf.keras.metrics.R2Score()
r2.update_state(y, y * 0.9)
found["r2 of doubles"] = float(r2.result())


class Outputs(tf.keras.callbacks.Callback):
    def on_predict_batch_end(self, batch, logs=None):
        found.setdefault("outputs", []).append(list(logs["outputs"].shape))


model.predict(x, batch_size=16, verbose=0, callbacks=[Outputs()])
print(json.dumps(found))
