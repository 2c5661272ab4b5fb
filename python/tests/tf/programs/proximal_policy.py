"""Policies: clipped ratios, values, target networks cloned from models with ops between layers, and old backend names."""

import json

import numpy as np
import tensorflow as tf

keras = tf.keras
layers, ops, K = keras.layers, keras.ops, keras.backend
rng = np.random.RandomState(0)


def stacked(x, sizes):
    for size in sizes[:-1]:
        x = layers.Dense(size, activation="tanh")(x)
    return layers.Dense(sizes[-1])(x)


seen = keras.Input(shape=(4,))
actor = keras.Model(seen, stacked(seen, [16, 16, 2]))
critic = keras.Model(seen, ops.squeeze(stacked(seen, [16, 16, 1]), axis=1))
for model in (actor, critic):
    model.set_weights([rng.normal(0, 0.3, w.shape) for w in model.get_weights()])
policy_steps, value_steps = keras.optimizers.Adam(3e-3), keras.optimizers.Adam(1e-2)


def chances(logits, actions):
    return ops.sum(ops.one_hot(actions, 2) * ops.log_softmax(logits), axis=1)


@tf.function
def train_policy(states, actions, before, advantages):
    with tf.GradientTape() as tape:
        ratio = ops.exp(chances(actor(states), actions) - before)
        bound = ops.where(advantages > 0, 1.2 * advantages, 0.8 * advantages)
        loss = -ops.mean(ops.minimum(ratio * advantages, bound))
    gradients = tape.gradient(loss, actor.trainable_variables)
    policy_steps.apply_gradients(zip(gradients, actor.trainable_variables))
    return ops.mean(before - chances(actor(states), actions))


@tf.function
def train_value(states, returns):
    with tf.GradientTape() as tape:
        loss = ops.mean((returns - critic(states)) ** 2)
    gradients = tape.gradient(loss, critic.trainable_variables)
    value_steps.apply_gradients(zip(gradients, critic.trainable_variables))
    return loss


states, actions = rng.normal(size=(32, 4)).astype("f"), rng.randint(0, 2, 32)
returns = np.cumsum(rng.uniform(size=32)).astype("f")
advantages = ((returns - returns.mean()) / returns.std()).astype("f")
before = chances(actor(states), actions)
found = {"steps": [[float(train_policy(states, actions, before, advantages)), float(train_value(states, returns))]
                   for _ in range(4)]}
target = keras.models.clone_model(critic)
target.set_weights([w * 0 for w in critic.get_weights()])
for a, b in zip(target.variables, critic.variables):
    a.assign(b * 0.25 + a * 0.75)
found["target"] = target(states[:3]).numpy().tolist()

x = K.variable(np.arange(6).reshape(2, 3))
found["backend"] = [np.asarray(each).tolist() for each in (
    K.argmax(x), K.argmin(x), K.expand_dims(x), K.dot(x, K.ones((3, 1))), K.binary_crossentropy(K.ones((2,)), K.ones((2,)) * 0.9),
    K.mean(x, axis=1), K.l2_normalize(x, axis=-1), K.clip(x, 1, 3))]
found["products of integers"] = tf.tensordot([[1, 2], [3, 4]], [[1, 2], [3, 4]], 1).numpy().tolist()
print(json.dumps(found))
