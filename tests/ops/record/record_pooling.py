"""Cases of the pooling family, from NumPy."""

import numpy as np
from pictures import to_layout, unwindows, windows
from recorder import Recorder

r = Recorder("pooling")


def pools(n, c, h, w, size=(2, 2), stride=(2, 2), padding=(0, 0, 0, 0)):
    x = r.apart(n, c, h, w)
    cols = windows(x, size, stride, padding, value=-np.inf)
    oh, ow = cols.shape[4:]
    flat = cols.reshape(n, c, size[0] * size[1], oh, ow)
    index = flat.argmax(2)
    y = flat.max(2)
    dy = r.normal(n, c, oh, ow)
    dtype = np.uint8 if size[0] * size[1] <= 256 else np.int32
    won = np.arange(size[0] * size[1])[None, None, :, None, None] == index[:, :, None]
    dx = unwindows((won * dy[:, :, None]).reshape(cols.shape), x.shape, stride, padding)
    counts = windows(np.ones_like(x), size, stride, padding).sum((2, 3))
    mean = windows(x, size, stride, padding).sum((2, 3)) / counts
    spread = np.broadcast_to((dy / counts)[:, :, None, None], cols.shape)
    avg_dx = unwindows(spread, x.shape, stride, padding)
    for nhwc in (False, True):
        a = dict(size=size, stride=stride, padding=padding, nhwc=nhwc)
        xl, yl, dyl = to_layout(x, nhwc), to_layout(y, nhwc), to_layout(dy, nhwc)
        il = to_layout(index.astype(dtype), nhwc)
        # In 16 bits neighbours may become equal, and another of them first.
        r.case("max_pool2d", [xl], [yl, il], dtypes=x.size < 100, **a)
        r.case("max_pool2d_grad", [dyl, il], [to_layout(dx, nhwc)], shape=xl.shape, **a)
        r.case("avg_pool2d", [xl], [to_layout(mean, nhwc)], **a)
        r.case("avg_pool2d_grad", [dyl], [to_layout(avg_dx, nhwc)], shape=xl.shape, **a)


pools(1, 2, 4, 6)
pools(2, 3, 7, 5)
pools(1, 2, 5, 6, size=(3, 3), stride=(2, 2), padding=(1, 1, 1, 1))
pools(1, 2, 5, 7, size=(3, 2), stride=(1, 3), padding=(2, 0, 1, 1))
pools(1, 1, 6, 5, size=(2, 2), stride=(1, 1))
pools(1, 1, 9, 8, size=(2, 2), stride=(3, 4))
pools(1, 1, 17, 17, size=(17, 16), stride=(1, 1))
pools(1, 1, 4, 70)
pools(1, 33, 3, 3, size=(3, 3), stride=(1, 1), padding=(1, 1, 1, 1))
pools(0, 3, 4, 4)
pools(2, 0, 4, 4)

x = np.array([[[[1.0, np.nan, 5.0, 5.0], [np.nan, 2.0, 5.0, 1.0]]]])
r.case("max_pool2d", [x], [[[[[np.nan, 5.0]]]], np.array([[[[1, 0]]]], dtype=np.uint8)],
       gradient=False, size=(2, 2), stride=(2, 2), padding=(0, 0, 0, 0), nhwc=False)


def whole(n, c, h, w, factor):
    x, dy = r.normal(n, c, h, w), r.normal(n, c)
    big = x.repeat(factor, 2).repeat(factor, 3)
    dbig = r.normal(*big.shape)
    dsmall = dbig.reshape(n, c, h, factor, w, factor).sum((3, 5))
    spread = np.broadcast_to(dy[:, :, None, None] / max(h * w, 1), x.shape)
    for nhwc in (False, True):
        xl = to_layout(x, nhwc)
        r.case("global_avg_pool2d", [xl], [x.mean((2, 3))], nhwc=nhwc)
        r.case("global_avg_pool2d_grad", [dy], [to_layout(spread, nhwc)], shape=xl.shape, nhwc=nhwc)
        r.case("upsample_nearest2d", [xl], [to_layout(big, nhwc)], factor=factor, nhwc=nhwc)
        r.case("upsample_nearest2d_grad", [to_layout(dbig, nhwc)], [to_layout(dsmall, nhwc)],
               factor=factor, nhwc=nhwc)


whole(2, 3, 4, 5, 2)
whole(1, 1, 1, 1, 3)
whole(1, 35, 2, 3, 1)
whole(1, 2, 3, 4, 3)
whole(0, 3, 4, 4, 2)
r.write()
