"""Cases of tf.keras, written once: record_keras.py runs them under TensorFlow, test_tf_keras.py here.

Each gives numbers that are determined: weights are set, and nothing is drawn.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

LAYERS: dict[str, tuple[str, Any]] = {
    "dense": ("L.Dense(5, activation='relu')", (7,)),
    "dense_3d": ("L.Dense(5, activation='softmax', use_bias=False)", (4, 7)),
    "dense_regularized": ("L.Dense(5, kernel_regularizer='l2', bias_regularizer=tf.keras.regularizers.L1(0.1))", (7,)),
    "dense_max_norm": ("L.Dense(5, kernel_constraint=tf.keras.constraints.MaxNorm(0.5))", (7,)),
    "dense_activity": ("L.Dense(5, activity_regularizer=tf.keras.regularizers.L2(0.1))", (7,)),
    "einsum_dense": ("L.EinsumDense('abc,cd->abd', output_shape=(4, 6), bias_axes='d')", (4, 7)),
    "conv1d": ("L.Conv1D(4, 3, padding='same', strides=2)", (9, 3)),
    "conv1d_causal": ("L.Conv1D(4, 3, padding='causal', dilation_rate=2)", (9, 3)),
    "conv2d": ("L.Conv2D(4, 3, activation='relu')", (8, 7, 3)),
    "conv2d_same_strides": ("L.Conv2D(4, (3, 2), strides=2, padding='same')", (8, 7, 3)),
    "conv2d_dilated": ("L.Conv2D(4, 3, dilation_rate=2, padding='same')", (8, 7, 3)),
    "conv2d_groups": ("L.Conv2D(6, 3, groups=3, padding='same', strides=2)", (9, 9, 6)),
    "conv3d": ("L.Conv3D(4, 3, padding='same', strides=(1, 2, 2))", (4, 6, 5, 2)),
    "conv2d_transpose": ("L.Conv2DTranspose(4, 3, strides=2, padding='same')", (5, 4, 3)),
    "conv2d_transpose_valid": ("L.Conv2DTranspose(4, (3, 2), strides=2)", (5, 4, 3)),
    "conv1d_transpose": ("L.Conv1DTranspose(4, 3, strides=2, padding='same')", (6, 3)),
    "depthwise": ("L.DepthwiseConv2D(3, depth_multiplier=2, padding='same')", (6, 6, 3)),
    "separable": ("L.SeparableConv2D(5, 3, depth_multiplier=2)", (6, 6, 3)),
    "separable1d": ("L.SeparableConv1D(5, 3, padding='same')", (8, 3)),
    "max_pool1d": ("L.MaxPooling1D(2)", (9, 3)),
    "max_pool2d": ("L.MaxPooling2D(2)", (7, 6, 3)),
    "max_pool2d_same": ("L.MaxPooling2D(3, strides=2, padding='same')", (7, 6, 3)),
    "max_pool3d": ("L.MaxPooling3D(2)", (4, 6, 4, 2)),
    "avg_pool1d": ("L.AveragePooling1D(3, strides=1, padding='same')", (8, 3)),
    "avg_pool2d": ("L.AveragePooling2D((2, 3))", (7, 6, 3)),
    "avg_pool2d_same": ("L.AveragePooling2D(3, strides=2, padding='same')", (7, 6, 3)),
    "avg_pool3d": ("L.AveragePooling3D(2, padding='same')", (5, 4, 4, 2)),
    "global_avg1d": ("L.GlobalAveragePooling1D()", (6, 3)),
    "global_avg2d": ("L.GlobalAveragePooling2D(keepdims=True)", (5, 6, 3)),
    "global_max1d": ("L.GlobalMaxPooling1D()", (6, 3)),
    "global_max2d": ("L.GlobalMaxPooling2D()", (5, 6, 3)),
    "batch_norm": ("L.BatchNormalization()", (5,)),
    "batch_norm_2d": ("L.BatchNormalization(momentum=0.9, epsilon=1e-2)", (5, 4, 3)),
    "batch_norm_plain": ("L.BatchNormalization(scale=False, center=False)", (4, 3)),
    "layer_norm": ("L.LayerNormalization()", (4, 6)),
    "layer_norm_axes": ("L.LayerNormalization(axis=[1, 2])", (4, 6)),
    "group_norm": ("L.GroupNormalization(groups=2)", (4, 3, 6)),
    "unit_norm": ("L.UnitNormalization()", (6,)),
    "rms_norm": ("L.RMSNormalization()", (6,)),
    "lstm": ("L.LSTM(4)", (5, 3)),
    "lstm_sequences": ("L.LSTM(4, return_sequences=True, go_backwards=True)", (5, 3)),
    "gru": ("L.GRU(4)", (5, 3)),
    "gru_before": ("L.GRU(4, reset_after=False, return_sequences=True)", (5, 3)),
    "simple_rnn": ("L.SimpleRNN(4, activation='relu')", (5, 3)),
    "bidirectional": ("L.Bidirectional(L.LSTM(3, return_sequences=True))", (5, 3)),
    "bidirectional_sum": ("L.Bidirectional(L.GRU(3), merge_mode='sum')", (5, 3)),
    "rnn_cell": ("L.RNN([L.LSTMCell(3), L.GRUCell(2)])", (5, 3)),
    "time_distributed": ("L.TimeDistributed(L.Dense(2))", (5, 3)),
    "flatten": ("L.Flatten()", (3, 4)),
    "reshape": ("L.Reshape((-1, 2))", (3, 4)),
    "permute": ("L.Permute((2, 1))", (3, 4)),
    "repeat_vector": ("L.RepeatVector(3)", (4,)),
    "relu": ("L.ReLU(max_value=1.0, negative_slope=0.1, threshold=0.2)", (6,)),
    "leaky_relu": ("L.LeakyReLU()", (6,)),
    "prelu": ("L.PReLU()", (6,)),
    "elu": ("L.ELU(0.5)", (6,)),
    "softmax": ("L.Softmax()", (6,)),
    "zero_padding1d": ("L.ZeroPadding1D(2)", (4, 3)),
    "zero_padding2d": ("L.ZeroPadding2D(((1, 2), (0, 1)))", (4, 3, 2)),
    "cropping1d": ("L.Cropping1D((1, 2))", (6, 3)),
    "cropping2d": ("L.Cropping2D(1)", (5, 6, 2)),
    "upsampling1d": ("L.UpSampling1D(2)", (4, 3)),
    "upsampling2d": ("L.UpSampling2D((2, 3))", (3, 4, 2)),
    "upsampling2d_bilinear": ("L.UpSampling2D(2, interpolation='bilinear')", (3, 4, 2)),
    "rescaling": ("L.Rescaling(1 / 127.5, offset=-1)", (4, 3)),
    "resizing": ("L.Resizing(5, 7)", (8, 6, 3)),
    "center_crop": ("L.CenterCrop(4, 3)", (8, 7, 3)),
    "normalization": ("L.Normalization(mean=[1.0, 2.0, 3.0], variance=[4.0, 1.0, 0.25])", (3,)),
    "activation_gelu": ("L.Activation('gelu')", (6,)),
    "activation_selu": ("L.Activation('selu')", (6,)),
    "activation_mish": ("L.Activation('mish')", (6,)),
    "activation_hard_sigmoid": ("L.Activation('hard_sigmoid')", (6,)),
    "activation_softsign": ("L.Activation('softsign')", (6,)),
    "activation_exponential": ("L.Activation('exponential')", (6,)),
    "spatial_dropout_eval": ("L.Dropout(0.0)", (4, 3)),
    "lambda": ("L.Lambda(lambda x: x * 2 + 1)", (4,)),
    "self_attention": ("Attend()", (5, 6)),
    "causal_attention": ("Causal()", (5, 6)),
}

OPTIMIZERS = {
    "sgd": "O.SGD(0.1)", "momentum": "O.SGD(0.1, momentum=0.9)",
    "nesterov": "O.SGD(0.05, momentum=0.9, nesterov=True)", "adam": "O.Adam(0.05)",
    "amsgrad": "O.Adam(0.05, amsgrad=True)", "adamw": "O.AdamW(0.05, weight_decay=0.02)",
    "rmsprop": "O.RMSprop(0.02)", "rmsprop_momentum": "O.RMSprop(0.02, momentum=0.5)",
    "rmsprop_centered": "O.RMSprop(0.02, centered=True)", "adagrad": "O.Adagrad(0.1)",
    "adadelta": "O.Adadelta(1.0)", "nadam": "O.Nadam(0.05)", "adamax": "O.Adamax(0.05)",
    "ftrl": "O.Ftrl(0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.01)",
    "lion": "O.Lion(0.01)", "lamb": "O.Lamb(0.05)", "adafactor": "O.Adafactor(0.1)",
    "adafactor_slow": "O.Adafactor(0.02, clip_threshold=0.5, beta_2_decay=-0.5)",
    "averaged": "O.Adam(0.05, use_ema=True, ema_momentum=0.8, ema_overwrite_frequency=4)",
    "accumulated": "O.AdamW(0.05, weight_decay=0.02, gradient_accumulation_steps=3)",
    "accumulated_nadam": "O.Nadam(0.05, gradient_accumulation_steps=2, global_clipnorm=0.1)",
    "clipnorm": "O.SGD(0.1, clipnorm=0.1)", "clipvalue": "O.SGD(0.1, clipvalue=0.05)",
    "global_clipnorm": "O.Adam(0.05, global_clipnorm=0.1)",
    "exponential": "O.SGD(O.schedules.ExponentialDecay(0.2, 3, 0.5, staircase=True))",
    "inverse": "O.SGD(O.schedules.InverseTimeDecay(0.2, 3, 0.5))",
    "piecewise": "O.SGD(O.schedules.PiecewiseConstantDecay([2, 5], [0.2, 0.1, 0.01]))",
    "polynomial": "O.SGD(O.schedules.PolynomialDecay(0.2, 8, 0.01, power=2.0))",
    "cosine": "O.SGD(O.schedules.CosineDecay(0.01, 8, warmup_target=0.2, warmup_steps=3))",
    "restarts": "O.SGD(O.schedules.CosineDecayRestarts(0.2, 4))",
}

LOSSES = {
    "mse": ("K.losses.MeanSquaredError()", "real"), "mae": ("K.losses.MeanAbsoluteError()", "real"),
    "mape": ("K.losses.MeanAbsolutePercentageError()", "real"),
    "msle": ("K.losses.MeanSquaredLogarithmicError()", "positive"), "huber": ("K.losses.Huber(0.5)", "real"),
    "log_cosh": ("K.losses.LogCosh()", "real"), "hinge": ("K.losses.Hinge()", "binary"),
    "squared_hinge": ("K.losses.SquaredHinge()", "binary"),
    "categorical_hinge": ("K.losses.CategoricalHinge()", "one_hot"),
    "kl": ("K.losses.KLDivergence()", "one_hot"), "poisson": ("K.losses.Poisson()", "positive"),
    "cosine": ("K.losses.CosineSimilarity()", "real"), "bce": ("K.losses.BinaryCrossentropy()", "binary"),
    "bce_logits": ("K.losses.BinaryCrossentropy(from_logits=True, label_smoothing=0.1)", "binary"),
    "cce": ("K.losses.CategoricalCrossentropy(label_smoothing=0.1)", "one_hot"),
    "cce_logits": ("K.losses.CategoricalCrossentropy(from_logits=True)", "one_hot"),
    "scce": ("K.losses.SparseCategoricalCrossentropy()", "labels"),
    "scce_logits": ("K.losses.SparseCategoricalCrossentropy(from_logits=True)", "labels"),
    "binary_focal": ("K.losses.BinaryFocalCrossentropy()", "binary"),
    "categorical_focal": ("K.losses.CategoricalFocalCrossentropy()", "one_hot"),
    "dice": ("K.losses.Dice()", "binary"), "tversky": ("K.losses.Tversky(0.3, 0.7)", "binary"),
    "sum": ("K.losses.MeanSquaredError(reduction='sum')", "real"),
}

METRICS = {
    "accuracy": ("K.metrics.Accuracy()", "binary"), "binary_accuracy": ("K.metrics.BinaryAccuracy()", "binary"),
    "categorical_accuracy": ("K.metrics.CategoricalAccuracy()", "one_hot"),
    "sparse_categorical_accuracy": ("K.metrics.SparseCategoricalAccuracy()", "labels"),
    "top_k": ("K.metrics.TopKCategoricalAccuracy(2)", "one_hot"),
    "sparse_top_k": ("K.metrics.SparseTopKCategoricalAccuracy(2)", "labels"),
    "precision": ("K.metrics.Precision()", "binary"), "recall": ("K.metrics.Recall(thresholds=[0.3, 0.6])", "binary"),
    "true_positives": ("K.metrics.TruePositives()", "binary"),
    "false_negatives": ("K.metrics.FalseNegatives()", "binary"),
    "auc": ("K.metrics.AUC()", "binary"), "auc_pr": ("K.metrics.AUC(curve='PR')", "binary"),
    "f1": ("K.metrics.F1Score()", "one_hot"), "f1_macro": ("K.metrics.F1Score(average='macro', threshold=0.4)", "one_hot"),
    "mse": ("K.metrics.MeanSquaredError()", "real"), "rmse": ("K.metrics.RootMeanSquaredError()", "real"),
    "mae": ("K.metrics.MeanAbsoluteError()", "real"), "mape": ("K.metrics.MeanAbsolutePercentageError()", "real"),
    "cosine": ("K.metrics.CosineSimilarity()", "real"), "r2": ("K.metrics.R2Score()", "real"),
    "log_cosh": ("K.metrics.LogCoshError()", "real"), "kl": ("K.metrics.KLDivergence()", "one_hot"),
    "poisson": ("K.metrics.Poisson()", "positive"), "hinge": ("K.metrics.Hinge()", "binary"),
    "bce": ("K.metrics.BinaryCrossentropy()", "binary"), "cce": ("K.metrics.CategoricalCrossentropy()", "one_hot"),
    "scce": ("K.metrics.SparseCategoricalCrossentropy()", "labels"),
    "mean_iou": ("K.metrics.MeanIoU(3)", "classes"), "iou": ("K.metrics.IoU(3, [0, 2])", "classes"),
    "binary_iou": ("K.metrics.BinaryIoU(threshold=0.4)", "binary"),
}


def fix(model: Any, seed: int = 0) -> Any:
    """The same weights everywhere; variances positive."""
    rng = np.random.RandomState(seed)
    made = []
    for v in model.weights:
        w = rng.normal(size=[int(n) for n in v.shape]).astype(np.float32) * 0.4
        made.append(np.abs(w) + 0.5 if "variance" in v.name else w)
    model.set_weights(made)
    return model


def shown(x: Any) -> list[float]:
    """A few numbers that stand for an array."""
    a = np.asarray(x, np.float64).reshape(-1)
    return [float(a.size), float(a.mean()), float(np.abs(a).mean()), *[float(v) for v in a[:6]], float(a[-1])]


def pairs(kind: str, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.RandomState(seed)
    p = rng.uniform(0.05, 0.95, (6, 3)).astype(np.float32)
    if kind == "real":
        return rng.normal(size=(6, 3)).astype(np.float32), rng.normal(size=(6, 3)).astype(np.float32)
    if kind == "positive":
        return rng.uniform(0.1, 2, (6, 3)).astype(np.float32), rng.uniform(0.1, 2, (6, 3)).astype(np.float32)
    if kind == "binary":
        return rng.randint(0, 2, (6, 3)).astype(np.float32), p
    if kind == "one_hot":
        return np.eye(3, dtype=np.float32)[rng.randint(0, 3, 6)], p / p.sum(-1, keepdims=True)
    if kind == "labels":
        return rng.randint(0, 3, 6), p / p.sum(-1, keepdims=True)
    return rng.randint(0, 3, 8), rng.randint(0, 3, 8)


def scope(tf: Any) -> dict[str, Any]:
    L = tf.keras.layers

    class Attend(L.Layer):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.inner = L.MultiHeadAttention(2, 3)

        def call(self, x: Any) -> Any:
            return self.inner(x, x)

    class Causal(Attend):
        def call(self, x: Any) -> Any:
            return self.inner(x, x, use_causal_mask=True)

    return {"tf": tf, "L": L, "O": tf.keras.optimizers, "K": tf.keras, "Attend": Attend, "Causal": Causal}


def layer_case(tf: Any, name: str) -> dict[str, Any]:
    text, shape = LAYERS[name]
    rng = np.random.RandomState(1)
    x = rng.normal(size=(4, *shape)).astype(np.float32)
    layer = eval(text, scope(tf))
    inputs = tf.keras.Input(shape)
    model = tf.keras.Model(inputs, layer(inputs))
    fix(model)
    y = model(x)
    result = {"shape": [int(n) for n in y.shape], "weights": [list(w.shape) for w in model.get_weights()],
              "forward": shown(y), "output_shape": [n for n in model.output_shape]}
    if model.trainable_weights:
        model.compile(tf.keras.optimizers.SGD(0.05), "mse")
        target = rng.normal(size=y.shape).astype(np.float32)
        result["losses"] = [float(model.train_on_batch(x, target)) if model.reset_metrics() is None else 0.0
                            for _ in range(3)]
        result["after"] = shown(np.concatenate([w.reshape(-1) for w in model.get_weights()]))
    return result


def optimizer_case(tf: Any, name: str) -> dict[str, Any]:
    rng = np.random.RandomState(2)
    x, y = rng.normal(size=(16, 5)).astype(np.float32), rng.normal(size=(16, 2)).astype(np.float32)
    L = tf.keras.layers
    model = fix(tf.keras.Sequential([tf.keras.Input((5,)), L.Dense(6, activation="tanh"), L.Dense(2)]))
    model.compile(eval(OPTIMIZERS[name], scope(tf)), "mse")
    losses = []
    for _ in range(10):
        model.reset_metrics()
        losses.append(float(model.train_on_batch(x, y)))
    return {"losses": losses, "after": shown(model.get_weights()[0])}


def loss_case(tf: Any, name: str) -> dict[str, Any]:
    text, kind = LOSSES[name]
    t, p = pairs(kind)
    loss = eval(text, scope(tf))
    weights = np.linspace(0.1, 2.0, 6).astype(np.float32)
    found = {"plain": float(loss(t, p)), "each": shown(loss.call(tf.constant(t), tf.constant(p)))}
    if name not in ("dice", "tversky"):
        found["weighted"] = float(loss(t, p, sample_weight=weights))
    return found


def metric_case(tf: Any, name: str) -> dict[str, Any]:
    text, kind = METRICS[name]
    metric = eval(text, scope(tf))
    found = {}
    for seed in (0, 1):
        metric.update_state(*pairs(kind, seed))
        found[f"after_{seed}"] = [float(v) for v in np.asarray(metric.result()).reshape(-1)]
    metric.reset_state()
    t, p = pairs(kind, 2)
    if name not in ("mean_iou", "iou", "binary_iou"):
        metric.update_state(t, p, sample_weight=np.linspace(0.2, 1.0, len(t)).astype(np.float32))
        found["weighted"] = [float(v) for v in np.asarray(metric.result()).reshape(-1)]
    return found


KINDS: dict[str, tuple[dict[str, Any], Callable[[Any, str], dict[str, Any]]]] = {
    "layer": (LAYERS, layer_case), "optimizer": (OPTIMIZERS, optimizer_case), "loss": (LOSSES, loss_case),
    "metric": (METRICS, metric_case),
}
