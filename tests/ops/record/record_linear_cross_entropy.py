"""Cases of linear_cross_entropy, from NumPy."""

import numpy as np
from recorder import DType, Recorder

r = Recorder("linear_cross_entropy")


def head(tokens, features, classes, ignored=(), dtype=np.int64, with_dx=True, with_dweight=True):
    x, weight = r.normal(tokens, features), r.normal(classes, features)
    labels = r.integers(0, max(classes, 1), tokens, dtype=dtype)
    labels[list(ignored)] = -100
    counts = labels != -100
    logits = x @ weight.T
    exps = np.exp(logits)
    p = exps / exps.sum(-1, keepdims=True)
    hot = np.eye(max(classes, 1))[np.where(counts, labels, 0)][:, :classes]
    losses = np.where(counts, np.log(exps.sum(-1)) - (logits * hot).sum(-1), 0)
    d = (p - hot) * counts[:, None]
    count = max(1, counts.sum())
    r.case("linear_cross_entropy", [x, weight, labels],
           [losses.sum() / count, float(count), d @ weight if with_dx else np.zeros(0),
            d.T @ x if with_dweight else np.zeros(0)],
           gradient=[0] if with_dx and with_dweight else False, tolerance=4.0,
           with_dx=with_dx, with_dweight=with_dweight)


head(5, 3, 4)
head(5, 3, 4, ignored=[1, 4], dtype=np.int32)
head(3, 2, 5, ignored=[0, 1, 2])
head(6, 4, 3, with_dweight=False)
head(6, 4, 3, with_dx=False)
head(6, 4, 3, with_dx=False, with_dweight=False)
head(1, 1, 1)
head(37, 19, 35)
head(1030, 2, 3, ignored=[1029])
head(0, 3, 4)
head(3, 0, 4)

for shape in ((3, 4), (1000,), (0,)):
    g, n, d = r.normal(*shape), np.asarray(3.0), np.asarray(0.7)
    r.case("linear_cross_entropy_grad", [g, d, n], [g * (0.7 / 3)], dtypes=False,
           dtype=DType("f64"))
r.write()
