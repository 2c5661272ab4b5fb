"""Checkpoints of a model, its optimizer and the position in the data, and a reader of their values."""

import json
import os
import tempfile

import numpy as np
import tensorflow as tf

folder = tempfile.mkdtemp()
found = {}


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.l1 = tf.keras.layers.Dense(5, kernel_initializer="ones")

    def call(self, x):
        return self.l1(x)


def data():
    inputs = tf.range(10.0)[:, None]
    return tf.data.Dataset.from_tensor_slices({"x": inputs, "y": inputs * 5.0 + tf.range(5.0)[None, :]}).repeat().batch(3)


net, optimizer, iterator = Net(), tf.keras.optimizers.Adam(0.1), iter(data())


def step():
    example = next(iterator)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.abs(net(example["x"]) - example["y"]))
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    return float(loss)


checkpoint = tf.train.Checkpoint(step=tf.Variable(1), optimizer=optimizer, net=net, iterator=iterator)
manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
found["first"] = [step() for _ in range(4)]
manager.save()
found["ahead"] = [step() for _ in range(4)]
checkpoint.restore(manager.latest_checkpoint)
found["again"] = [step() for _ in range(4)]
for _ in range(2):
    manager.save()
found["kept"] = [os.path.basename(each) for each in manager.checkpoints]

bias = tf.Variable(tf.zeros([5]))
partial = tf.train.Checkpoint(net=tf.train.Checkpoint(l1=tf.train.Checkpoint(bias=bias)))
partial.restore(manager.latest_checkpoint).expect_partial()
found["bias"] = bias.numpy().tolist()
shapes = tf.train.load_checkpoint(folder).get_variable_to_shape_map()
found["shapes"] = sorted(each for key, each in shapes.items() if key.startswith("net/l1"))

shuffled = tf.data.Dataset.range(20).shuffle(20, seed=3).batch(4)
other = iter(shuffled)
next(other)
saved = tf.train.Checkpoint(iterator=other).write(os.path.join(folder, "data"))
rest = [each.numpy().tolist() for each in other]
other = iter(shuffled)
tf.train.Checkpoint(iterator=other).read(saved)
found["same rest"] = rest == [each.numpy().tolist() for each in other]


class Module(tf.Module):
    def __init__(self, size, name=None):
        super().__init__(name=name)
        self.size, self.ready = size, False

    @tf.Module.with_name_scope
    def __call__(self, x):
        if not self.ready:
            self.w = tf.Variable(tf.ones([x.shape[-1], self.size]), name="w")
            self.ready = True
        return x @ self.w


class Stack(tf.Module):
    def __init__(self):
        super().__init__()
        self.layers = [Module(3), Module(2)]

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def __call__(self, x):
        for each in self.layers:
            x = each(x)
        return x


stack = Stack()
found["stack"] = [stack([[1.0, 2.0]]).numpy().tolist(), [v.name for v in stack.variables]]
path = tf.train.Checkpoint(model=stack).write(os.path.join(folder, "stack"))
stack.layers[0].w.assign(tf.zeros([2, 3]))
tf.train.Checkpoint(model=stack).read(path)
found["stack again"] = stack(np.ones((1, 2), "float32")).numpy().tolist()
print(json.dumps(found))
