"""Texts to numbers by layers, tables, string ops and the tokenizer of old; a classifier of strings."""

import json
import re
import string

import numpy as np
import tensorflow as tf

layers = tf.keras.layers
losses = tf.keras.losses

texts = ["This movie was great!", "Terrible acting, <br />bad plot.", "great plot great cast", "bad bad movie",
    "I loved the cast", "the plot was terrible"]
labels = np.array([1, 0, 1, 0, 1, 0])
out = {}
raw = tf.data.Dataset.from_tensor_slices((texts, labels)).batch(2)


def custom_standardization(input_data):
    lowercase = tf.strings.lower(input_data)
    stripped_html = tf.strings.regex_replace(lowercase, "<br />", " ")
    return tf.strings.regex_replace(stripped_html, "[%s]" % re.escape(string.punctuation), "")


vectorize_layer = layers.TextVectorization(standardize=custom_standardization, max_tokens=20, output_mode="int",
    output_sequence_length=5)
vectorize_layer.adapt(raw.map(lambda x, y: x))
out["vocab"] = vectorize_layer.get_vocabulary()[:6]
out["size"] = vectorize_layer.vocabulary_size()


def vectorize_text(text, label):
    text = tf.expand_dims(text, -1)
    return (vectorize_layer(text), label)


text_batch, label_batch = next(iter(raw))
out["vec"] = vectorize_text(text_batch[0], label_batch[0])[0].numpy().tolist()
train_ds = raw.map(vectorize_text).cache().prefetch(buffer_size=tf.data.AUTOTUNE)
out["ds"] = [x.numpy().tolist() for x, _ in train_ds]
model = tf.keras.Sequential([layers.Embedding(20, 4, mask_zero=True), layers.Dropout(0.0),
    layers.Bidirectional(layers.GRU(3)), layers.Dense(1, activation="sigmoid")])
model.build((None, 5))
d = np.random.RandomState(1)
model.set_weights([(d.normal(size=w.shape) * 0.4).astype("float32") if w.ndim > 1 else w for w in model.get_weights()])
model.compile(loss=losses.BinaryCrossentropy(), optimizer="adam",
    metrics=[tf.metrics.BinaryAccuracy(threshold=0.5)])
h = model.fit(train_ds, epochs=3, verbose=0)
out["h"] = h.history
for mode in ["multi_hot", "count", "tf_idf"]:
    v = layers.TextVectorization(output_mode=mode, max_tokens=12, pad_to_max_tokens=False)
    v.adapt(texts)
    out[mode] = v(texts[:2]).numpy().tolist()
ng = layers.TextVectorization(ngrams=2, max_tokens=30, output_mode="int")
ng.adapt(texts)
out["ngrams"] = sorted(ng.get_vocabulary()[2:])[:5]
ch = layers.TextVectorization(split="character", standardize="lower")
ch.adapt(["abc", "abd"])
out["chars"] = ch(["abz"]).numpy().tolist()
given = layers.TextVectorization(vocabulary=["the", "movie"], output_sequence_length=4)
out["given"] = given([["the movie ended", "movie"]][0]).numpy().tolist()
look = layers.StringLookup(vocabulary=["a", "b", "c"], mask_token=None)
inv = layers.StringLookup(vocabulary=look.get_vocabulary(), invert=True, mask_token=None)
ids = look(tf.constant([["a", "z", "c"]]))
out["look"] = [ids.numpy().tolist(), [s.decode() for s in inv(ids).numpy()[0]]]
il = layers.IntegerLookup(vocabulary=[10, 20, 30], output_mode="one_hot")
out["int"] = il(tf.constant([10, 99])).numpy().tolist()
table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(tf.constant(["cat", "dog"]),
    tf.constant([0, 1], dtype=tf.int64)), default_value=-1)
out["table"] = [table.lookup(tf.constant(["dog", "cow"])).numpy().tolist(), int(table.size()),
    table[tf.constant("cat")].numpy().tolist()]
vt = tf.lookup.StaticVocabularyTable(tf.lookup.KeyValueTensorInitializer(["x", "y"],
    tf.constant([0, 1], tf.int64)), num_oov_buckets=1)
out["vt"] = vt.lookup(tf.constant(["y", "q"])).numpy().tolist()
m = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, default_value=-1)
m.insert(tf.constant(["k"]), tf.constant([5], tf.int64))
out["mutable"] = m.lookup(tf.constant(["k", "j"])).numpy().tolist()
s = tf.constant(["Hello World", "a,b"])
out["strings"] = [tf.strings.length(s).numpy().tolist(), [t.decode() for t in tf.strings.substr(s, 0,
    2).numpy()], tf.strings.split(s).to_list() != [],
    tf.strings.split(["a,b", "c"], ",").to_tensor("").numpy().tolist() != [],
    float(tf.strings.to_number("3.5")), tf.strings.join(["a", "b"], "-").numpy().decode(),
    tf.strings.as_string(tf.constant([1.5]), precision=2).numpy()[0].decode(),
    tf.strings.strip(" x ").numpy().decode(), bool(tf.strings.regex_full_match("abc", "a.*")),
    tf.strings.reduce_join(["x", "y"], separator="+").numpy().decode(),
    tf.strings.format("{} and {}", (tf.constant(1), tf.constant([2]))).numpy().decode()]
out["unicode"] = tf.strings.unicode_decode("héé", "UTF-8").numpy().tolist()
out["ngr"] = tf.strings.ngrams(["a", "b", "c"], 2).numpy().tolist() == [b"a b", b"b c"]
tok = tf.keras.preprocessing.text.Tokenizer(num_words=10, oov_token="<OOV>")
tok.fit_on_texts(texts)
seq = tok.texts_to_sequences(texts[:2])
out["tok"] = [seq, tf.keras.preprocessing.sequence.pad_sequences(seq, maxlen=6, padding="post",
    truncating="post").tolist(), tok.word_index["plot"]]
export = tf.keras.Sequential([tf.keras.Input((1,), dtype="string"), vectorize_layer, model])
export.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])
out["export"] = export.predict(tf.constant([[texts[0]], [texts[1]]]), verbose=0).tolist()
print(json.dumps(out))
