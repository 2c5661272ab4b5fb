"""Cases of attention, from NumPy."""

import numpy as np
from recorder import Recorder

r = Recorder("attention")


def attention(lead, queries, keys, size, value_size=None, causal=False, scale=None):
    value_size = size if value_size is None else value_size
    scale = 1 / np.sqrt(size) if scale is None else scale
    q, k = r.normal(*lead, queries, size), r.normal(*lead, keys, size)
    v, dy = r.normal(*lead, keys, value_size), r.normal(*lead, queries, value_size)
    scores = q @ np.swapaxes(k, -1, -2) * scale
    seen = np.ones((queries, keys), bool)
    if causal:
        seen = np.tril(seen, keys - queries)
    exps = np.where(seen, np.exp(scores), 0)
    total = exps.sum(-1)
    blind = ~seen.any(-1)
    p = exps / np.where(blind, 1, total)[..., None]
    lse = np.where(blind, 0, np.log(np.where(blind, 1, total)))
    y = p @ v
    dv = np.swapaxes(p, -1, -2) @ dy
    dp = dy @ np.swapaxes(v, -1, -2)
    for dlse in (None, r.normal(*lse.shape)):
        ds = p * (dp - (dy * y).sum(-1, keepdims=True)) * scale
        if dlse is not None:
            ds = ds + p * dlse[..., None] * scale
        inputs = [q, k, v, y, lse, dy] + ([] if dlse is None else [dlse])
        # Not in other dtypes: y and lse would no longer be those of q, k and v.
        r.case("attention_grad", inputs, [ds @ k, np.swapaxes(ds, -1, -2) @ q, dv],
               dtypes=False, causal=causal, scale=scale)
        if dlse is None and q.size > 400:
            break
    # Sums of many products of 16-bit numbers, which were rounded before.
    r.case("attention", [q, k, v], [y, lse], tolerance=2.0, causal=causal, scale=scale)


def self_attention(n, tokens, heads, size, causal=False, scale=None):
    scale = 1 / np.sqrt(max(size, 1)) if scale is None else scale
    qkv, dy = r.normal(n, tokens, 3 * heads * size), r.normal(n, tokens, heads * size)
    # [3, n, heads, tokens, size]
    q, k, v = qkv.reshape(n, tokens, 3, heads, size).transpose(2, 0, 3, 1, 4)
    dys = dy.reshape(n, tokens, heads, size).transpose(0, 2, 1, 3)
    scores = q @ np.swapaxes(k, -1, -2) * scale
    exps = np.exp(scores) * (np.tril(np.ones((tokens, tokens))) if causal else 1)
    total = exps.sum(-1)
    p = exps / total[..., None]
    lse = np.log(total)
    ys = p @ v
    y = ys.transpose(0, 2, 1, 3).reshape(n, tokens, heads * size)
    dv = np.swapaxes(p, -1, -2) @ dys
    dp = dys @ np.swapaxes(v, -1, -2)
    for dlse in (None, r.normal(*lse.shape)):
        ds = p * (dp - (dys * ys).sum(-1, keepdims=True)) * scale
        if dlse is not None:
            ds = ds + p * dlse[..., None] * scale
        parts = np.stack([ds @ k, np.swapaxes(ds, -1, -2) @ q, dv])
        dqkv = parts.transpose(1, 3, 0, 2, 4).reshape(n, tokens, 3 * heads * size)
        inputs = [qkv, y, lse, dy] + ([] if dlse is None else [dlse])
        r.case("self_attention_grad", inputs, [dqkv], dtypes=False, heads=heads, causal=causal,
               scale=scale)
        if dlse is None and qkv.size > 400:
            break
    r.case("self_attention", [qkv], [y, lse], tolerance=2.0, heads=heads, causal=causal,
           scale=scale)


attention((2, 3), 5, 5, 4)
attention((2, 3), 5, 5, 4, causal=True)
attention((1, 2), 3, 7, 4, causal=True)
attention((2,), 7, 3, 4, causal=True)
attention((2, 1, 2), 4, 6, 3, value_size=5, scale=0.3)
attention((), 3, 4, 2, scale=-0.7)
attention((1,), 1, 1, 1)
attention((1,), 140, 270, 2, causal=True)
attention((1,), 130, 258, 1)
attention((1,), 37, 35, 33)
attention((0, 2), 3, 4, 2)
attention((2,), 0, 4, 2)
attention((2,), 3, 0, 2)
attention((2,), 3, 4, 0, value_size=3, scale=1.0)
self_attention(2, 5, 3, 4)
self_attention(2, 5, 3, 4, causal=True)
self_attention(1, 3, 1, 2, scale=-0.7)
self_attention(1, 1, 2, 1, causal=True)
self_attention(1, 67, 2, 3, causal=True)
self_attention(2, 37, 1, 9, scale=0.3)
self_attention(1, 130, 1, 2)
self_attention(0, 3, 2, 2)
self_attention(2, 0, 2, 2)
self_attention(2, 3, 2, 0, scale=1.0)
r.write()
