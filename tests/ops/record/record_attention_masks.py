"""Cases of attention with masks of keys and with fewer heads of keys than of queries, from NumPy."""

import numpy as np
from recorder import Recorder

r = Recorder("attention_masks")


def results(q, k, v, dy, mask, causal, scale):
    """y, the logarithms of sums, and a function of dlse for the gradients by q, k and v, of q [n, heads, queries,
    size], k and v [n, key heads, keys, size] and mask [n, keys] or None."""
    group = q.shape[1] // k.shape[1]
    keys, values = np.repeat(k, group, 1), np.repeat(v, group, 1)
    seen = np.ones((q.shape[2], k.shape[2]), bool)
    if causal:
        seen = np.tril(seen, k.shape[2] - q.shape[2])
    seen = np.broadcast_to(seen, (q.shape[0], 1, *seen.shape))
    if mask is not None:
        seen = seen & mask[:, None, None, :]
    scores = q @ np.swapaxes(keys, -1, -2) * scale
    exps = np.where(seen, np.exp(scores), 0)
    total = exps.sum(-1)
    blind = total == 0
    p = exps / np.where(blind, 1, total)[..., None]
    lse = np.where(blind, 0, np.log(np.where(blind, 1, total)))
    y = p @ values

    def gradients(dlse):
        by_weights = dy @ np.swapaxes(values, -1, -2) - (dy * y).sum(-1, keepdims=True)
        ds = p * (by_weights + (0 if dlse is None else dlse[..., None])) * scale
        summed = lambda x: x.reshape(k.shape[0], k.shape[1], group, *x.shape[2:]).sum(2)
        return ds @ keys, summed(np.swapaxes(ds, -1, -2) @ q), summed(np.swapaxes(p, -1, -2) @ dy)

    return y, lse, gradients


def masks(n, keys):
    """One that hides nothing in its first row, everything in its last, and some keys in others."""
    mask = r.random.random((n, keys)) < 0.6
    mask[:1] = True
    if n > 2:
        mask[-1] = False
    return mask


def attention(n, heads, key_heads, queries, keys, size, masked=True, causal=False, scale=None):
    scale = 1 / np.sqrt(size) if scale is None else scale
    q, dy = r.normal(n, heads, queries, size), r.normal(n, heads, queries, size)
    k, v = r.normal(n, key_heads, keys, size), r.normal(n, key_heads, keys, size)
    mask = masks(n, keys) if masked else None
    y, lse, gradients = results(q, k, v, dy, mask, causal, scale)
    more = [mask] if masked else []
    for dlse in (None, r.normal(*lse.shape)):
        # Not in other dtypes: y and lse would no longer be those of q, k and v.
        r.case("attention_grad", [q, k, v, y, lse, dy, *more] + ([] if dlse is None else [dlse]),
               list(gradients(dlse)), dtypes=False, causal=causal, scale=scale)
        if dlse is None and q.size > 400:
            break
    r.case("attention", [q, k, v, *more], [y, lse], tolerance=2.0, causal=causal, scale=scale)


def self_attention(n, tokens, heads, key_heads, size, masked=True, causal=False, scale=None):
    scale = 1 / np.sqrt(size) if scale is None else scale
    widths = [heads * size, key_heads * size, key_heads * size]
    qkv, dy = r.normal(n, tokens, sum(widths)), r.normal(n, tokens, heads * size)
    apart = lambda x: x.reshape(n, tokens, x.shape[2] // size, size).transpose(0, 2, 1, 3)
    together = lambda x: x.transpose(0, 2, 1, 3).reshape(n, tokens, x.shape[1] * size)
    q, k, v = (apart(x) for x in np.split(qkv, np.cumsum(widths)[:2], 2))
    mask = masks(n, tokens) if masked else None
    y, lse, gradients = results(q, k, v, apart(dy), mask, causal, scale)
    more = [mask] if masked else []
    attributes = {"heads": heads, "causal": causal, "scale": scale}
    if key_heads != heads:
        attributes["key_heads"] = key_heads
    for dlse in (None, r.normal(*lse.shape)):
        dqkv = np.concatenate([together(x) for x in gradients(dlse)], 2)
        r.case("self_attention_grad", [qkv, together(y), lse, dy, *more] + ([] if dlse is None else [dlse]),
               [dqkv], dtypes=False, **attributes)
        if dlse is None and qkv.size > 400:
            break
    r.case("self_attention", [qkv, *more], [together(y), lse], tolerance=2.0, **attributes)


attention(3, 2, 2, 4, 5, 3)
attention(3, 2, 2, 5, 5, 3, causal=True)
attention(2, 2, 2, 3, 6, 2, causal=True, scale=-0.7)
attention(2, 4, 2, 3, 4, 2, masked=False)
attention(2, 6, 1, 4, 4, 2, masked=False, causal=True)
attention(3, 4, 2, 3, 5, 2)
attention(2, 2, 1, 131, 259, 1)
attention(3, 1, 1, 70, 300, 2)
attention(0, 2, 1, 3, 4, 2)
attention(2, 2, 1, 0, 4, 2)
attention(2, 2, 1, 3, 0, 2)
self_attention(3, 5, 2, 2, 3)
self_attention(3, 5, 2, 2, 3, causal=True)
self_attention(2, 4, 4, 2, 2, masked=False, causal=True)
self_attention(3, 4, 6, 2, 2)
self_attention(2, 140, 2, 1, 2, causal=True)
self_attention(2, 70, 2, 2, 3, scale=0.3)
self_attention(0, 3, 2, 1, 2)
self_attention(2, 0, 2, 1, 2)
r.write()
