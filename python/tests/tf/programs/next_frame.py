"""Pictures that follow each other, by ConvLSTM2D and Conv3D."""

import json

import numpy as np
import tensorflow as tf

layers = tf.keras.layers

out = {}
r = np.random.RandomState(0)
x = r.rand(4, 10, 6, 6, 1).astype("float32")


def fix(m, seed=1):
    d = np.random.RandomState(seed)
    m.set_weights([(d.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in m.get_weights()])


inp = layers.Input(shape=(None, *x.shape[2:]))
z = layers.ConvLSTM2D(filters=4, kernel_size=(5, 5), padding="same", return_sequences=True,
    activation="relu")(inp)
z = layers.BatchNormalization()(z)
z = layers.ConvLSTM2D(filters=3, kernel_size=(3, 3), padding="same", return_sequences=True)(z)
z = layers.Conv3D(1, (3, 3, 3), activation="sigmoid", padding="same")(z)
model = tf.keras.models.Model(inp, z)
fix(model)
model.compile(loss="binary_crossentropy", optimizer=tf.keras.optimizers.Adam())
out["shape"] = list(model.output_shape)
out["params"] = model.count_params()
out["h"] = model.fit(x[:, :-1], x[:, 1:], batch_size=2, epochs=2, shuffle=False, verbose=0,
    callbacks=[tf.keras.callbacks.ReduceLROnPlateau(monitor="loss", patience=1)]).history
out["p"] = model.predict(x[:1, :3], verbose=0)[0, -1, :2, :2, 0].tolist()
for k in (dict(strides=2), dict(go_backwards=True, return_sequences=True),
    dict(return_state=True, padding="same"), dict(recurrent_activation="hard_sigmoid", use_bias=False)):
    l = layers.ConvLSTM2D(2, 3, **k)
    l(x)
    fix(l, 2)
    y = l(x)
    y = y if isinstance(y, (list, tuple)) else [y]
    out[str(sorted(k))] = [[list(t.shape), float(tf.reduce_sum(t))] for t in y]
cfg = layers.ConvLSTM2D(2, 3, strides=2).get_config()
out["cfg"] = [cfg["filters"]]
print(json.dumps(out))
