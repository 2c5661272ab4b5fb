"""Sounds in folders: a dataset of waves, spectrograms, mel features, and dilated causal convolutions."""

import json
import os
import tempfile

import numpy as np
import tensorflow as tf

layers = tf.keras.layers
rng = np.random.RandomState(0)
folder = tempfile.mkdtemp()
for number, name in enumerate(("no", "yes")):
    os.makedirs(os.path.join(folder, name))
    for i in range(6):
        wave = np.sin(np.arange(1000) * (0.05 + 0.1 * number) + i).astype("f") * 0.5
        tf.io.write_file(os.path.join(folder, name, f"{i}.wav"), tf.audio.encode_wav(wave[:, None], 8000))
sounds = tf.keras.utils.audio_dataset_from_directory(
    folder, batch_size=4, shuffle=False, output_sequence_length=1024, verbose=False)
found = {"names": list(sounds.class_names)}


def spectrogram(wave):
    return tf.abs(tf.signal.stft(wave, frame_length=255, frame_step=128))[..., tf.newaxis]


spectra = sounds.map(lambda wave, label: (spectrogram(tf.squeeze(wave, axis=-1)), label))
found["spectra"] = [[list(s.shape), float(tf.reduce_mean(s)), labels.numpy().tolist()] for s, labels in spectra]
train, rest = tf.keras.utils.audio_dataset_from_directory(
    folder, batch_size=4, validation_split=0.25, subset="both", seed=1, output_sequence_length=512, verbose=False)
found["parts"] = [sum(int(y.shape[0]) for _, y in each) for each in (train, rest)]


class Waves(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.tanh = [layers.Conv1D(4, 2, dilation_rate=2**i, padding="causal", activation="tanh") for i in range(3)]
        self.gate = [layers.Conv1D(4, 2, dilation_rate=2**i, padding="causal", activation="sigmoid") for i in range(3)]
        self.skip, self.out = [layers.Conv1D(4, 1) for _ in range(3)], layers.Conv1D(1, 1)

    def call(self, x):
        total = 0.0
        for a, b, c in zip(self.tanh, self.gate, self.skip):
            h = c(a(x) * b(x))
            total, x = total + h, x + h
        return self.out(tf.nn.relu(total))


waves, x = Waves(), rng.normal(size=(6, 32, 1)).astype("f")
waves(x)
waves.set_weights([rng.normal(0, 0.4, w.shape) for w in waves.get_weights()])
waves.compile("adam", "mse")
found["loss"] = waves.fit(x[:, :-1], x[:, 1:], batch_size=2, epochs=3, shuffle=False, verbose=0).history["loss"]
mel = tf.signal.linear_to_mel_weight_matrix(20, 129, 8000, 80.0, 4000.0)
power = tf.abs(tf.signal.stft(tf.constant(rng.normal(size=512), tf.float32), 256, 128, fft_length=256))
found["mfcc"] = tf.signal.mfccs_from_log_mel_spectrograms(
    tf.math.log(tf.tensordot(power, mel, 1) + 1e-6))[..., :5].numpy().tolist()
print(json.dumps(found))
