"""A picture that is changed to please a layer; style by products of features."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


base = tf.keras.Sequential([
    tf.keras.Input((16, 16, 3)), tf.keras.layers.Conv2D(4, 3, activation="relu", name="one"),
    tf.keras.layers.AveragePooling2D(2), tf.keras.layers.Conv2D(6, 3, activation="tanh", name="two")])
fix(base)
names = ["one", "two"]
features = tf.keras.Model(inputs=base.inputs, outputs=[base.get_layer(name).output for name in names])
features.trainable = False


def gram(x):
    result = tf.linalg.einsum("bijc,bijd->bcd", x, x)
    shape = tf.shape(x)
    return result / tf.cast(shape[1] * shape[2], tf.float32)


content = tf.constant(rng.rand(1, 16, 16, 3).astype("float32"))
style = tf.constant(rng.rand(1, 16, 16, 3).astype("float32"))
style_targets = [gram(x) for x in features(style)]
content_target = features(content)[1]
image = tf.Variable(content)
optimizer = tf.keras.optimizers.Adam(learning_rate=0.02, beta_1=0.99, epsilon=1e-1)


@tf.function()
def step(image):
    with tf.GradientTape() as tape:
        outputs = features(image)
        style_loss = tf.add_n([tf.reduce_mean((gram(a) - b) ** 2) for a, b in zip(outputs, style_targets)]) / len(names)
        content_loss = tf.reduce_mean((outputs[1] - content_target) ** 2)
        loss = 100.0 * style_loss + content_loss + 1e-3 * tf.image.total_variation(image)[0]
    gradient = tape.gradient(loss, image)
    optimizer.apply_gradients([(gradient, image)])
    image.assign(tf.clip_by_value(image, clip_value_min=0.0, clip_value_max=1.0))
    return loss


losses = [float(step(image)) for _ in range(6)]
dream = tf.constant(rng.rand(1, 16, 16, 3).astype("float32"))
values = []
for _ in range(4):
    with tf.GradientTape() as tape:
        tape.watch(dream)
        activation = tf.reduce_mean(features(dream)[1])
    gradient = tape.gradient(activation, dream)
    gradient /= tf.math.reduce_std(gradient) + 1e-8
    dream = tf.clip_by_value(dream + gradient * 0.01, -1, 1)
    values.append(float(activation))
print(json.dumps({"losses": losses, "values": values, "image": float(tf.reduce_mean(image)),
                  "variation": float(tf.image.total_variation(image)[0])}))
