"""Recurrent layers with states, masks, cells of one's own and both directions; a decoder step by step."""

import json

import numpy as np
import tensorflow as tf

layers = tf.keras.layers

out = {}
r = np.random.RandomState(0)
x = r.normal(size=(3, 5, 4)).astype("float32")


def fix(layer, seed=1):
    d = np.random.RandomState(seed)
    layer.set_weights([(d.normal(size=w.shape) * 0.3).astype("float32") for w in layer.get_weights()])


def first(t):
    return np.asarray(t)[0].ravel()[:6].tolist()


for name, l in {"lstm": layers.LSTM(3, return_sequences=True, return_state=True),
    "gru": layers.GRU(3, return_sequences=True, return_state=True),
    "gru_r": layers.GRU(3, return_sequences=True, return_state=True, reset_after=False),
    "simple": layers.SimpleRNN(3, return_sequences=True, return_state=True)}.items():
    l(x)
    fix(l)
    got = l(x)
    out[name] = [first(g) for g in got]
    back = l(x, initial_state=[tf.ones((3, 3))] * (len(got) - 1))
    out[name + "_init"] = first(back[0])
    mask = tf.constant([[True] * 5, [True, True, True, False, False], [False, True, True, True, False]])
    out[name + "_mask"] = np.asarray(l(x, mask=mask)[0])[1].ravel()[:6].tolist()
b = layers.Bidirectional(layers.LSTM(2, return_sequences=True), merge_mode="sum")
b(x)
fix(b)
out["bisum"] = first(b(x))
b2 = layers.Bidirectional(layers.GRU(2, return_state=True))
b2(x)
fix(b2)
out["bistate"] = [first(t) for t in b2(x)]
go = layers.LSTM(2, go_backwards=True, return_sequences=True)
go(x)
fix(go)
out["back"] = first(go(x))
st = layers.RNN([layers.LSTMCell(3), layers.GRUCell(2)], return_sequences=True)
st(x)
fix(st)
out["stacked"] = first(st(x))


class MinimalRNNCell(layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.state_size = units

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], self.units), initializer="uniform", name="kernel")
        self.recurrent_kernel = self.add_weight(shape=(self.units, self.units), initializer="uniform",
            name="recurrent_kernel")
        self.built = True

    def call(self, inputs, states):
        output = tf.matmul(inputs, self.kernel) + tf.matmul(states[0], self.recurrent_kernel)
        return (output, [output])


own = layers.RNN(MinimalRNNCell(3))
own(x)
fix(own)
out["own"] = first(own(x))
td = layers.TimeDistributed(layers.Dense(2))
td(x)
fix(td)
out["td"] = first(td(x))
cl = layers.ConvLSTM2D(2, 3, padding="same")
xi = r.normal(size=(2, 3, 4, 4, 1)).astype("float32")
cl(xi)
fix(cl)
out["convlstm"] = first(cl(xi))
m = tf.keras.Sequential([layers.Input((5, 4)), layers.Masking(0.0),
    layers.LSTM(4, dropout=0.0, recurrent_dropout=0.0, kernel_regularizer="l2"), layers.RepeatVector(3),
    layers.GRU(4, return_sequences=True), layers.TimeDistributed(layers.Dense(1))])
fix(m)
m.compile("adam", "mse")
xm = x.copy()
xm[:, 3:] = 0
out["fit"] = m.fit(np.tile(xm, (4, 1, 1)), np.ones((12, 3, 1)), epochs=3, batch_size=6, shuffle=False,
    verbose=0).history["loss"]
ei = tf.keras.Input((None, 4))
eo, h, c = layers.LSTM(3, return_state=True, name="enc")(ei)
di = tf.keras.Input((None, 2))
dl = layers.LSTM(3, return_sequences=True, return_state=True, name="dec")
do, _, _ = dl(di, initial_state=[h, c])
dd = layers.Dense(2, activation="softmax", name="out")
full = tf.keras.Model([ei, di], dd(do))
fix(full)
full.compile("rmsprop", "categorical_crossentropy")
tgt = np.eye(2)[r.randint(0, 2, (3, 4))].astype("float32")
out["s2s"] = full.fit([x, tgt], tgt, epochs=2, verbose=0, shuffle=False).history["loss"]
enc = tf.keras.Model(ei, [h, c])
hi, ci = (tf.keras.Input((3,)), tf.keras.Input((3,)))
o2, h2, c2 = dl(di, initial_state=[hi, ci])
dec = tf.keras.Model([di, hi, ci], [dd(o2), h2, c2])
states = enc.predict(x[:1], verbose=0)
tok = np.zeros((1, 1, 2), "float32")
seq = []
for _ in range(4):
    p, hh, cc = dec.predict([tok, *states], verbose=0)
    seq.append(p[0, 0].tolist())
    tok = np.eye(2)[[p.argmax()]][None].astype("float32")
    states = [hh, cc]
out["decode"] = seq
xl = r.normal(size=(2, 12, 4)).astype("float32")
ll = layers.LSTM(3, return_sequences=True, unroll=False)
ll(xl)
fix(ll)
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(ll(xl) ** 2)
out["grads"] = [float(tf.norm(g)) for g in tape.gradient(loss, ll.trainable_weights)]
print(json.dumps(out))
