"""Cases of the convolution family, from NumPy."""

import numpy as np
from pictures import to_layout, unwindows, windows
from recorder import Recorder

r = Recorder("convolution")


def conv(n, cin, h, w, cout, kh, kw, stride=(1, 1), padding=(0, 0, 0, 0), dilation=(1, 1),
         groups=1, bias=False):
    x, weight = r.normal(n, cin, h, w), r.normal(cout, cin // groups, kh, kw)
    cols = windows(x, (kh, kw), stride, padding, dilation)
    oh, ow = cols.shape[4:]
    gcols = cols.reshape(n, groups, cin // groups, kh, kw, oh, ow)
    gweight = weight.reshape(groups, cout // groups, cin // groups, kh, kw)
    y = np.einsum("ngcijyx,gocij->ngoyx", gcols, gweight).reshape(n, cout, oh, ow)
    dy = r.normal(*y.shape)
    gdy = dy.reshape(n, groups, cout // groups, oh, ow)
    dcols = np.einsum("ngoyx,gocij->ngcijyx", gdy, gweight).reshape(cols.shape)
    dx = unwindows(dcols, x.shape, stride, padding, dilation)
    dw = np.einsum("ngcijyx,ngoyx->gocij", gcols, gdy).reshape(weight.shape)
    b = r.normal(cout)
    for nhwc in (False, True):
        attributes = dict(stride=stride, padding=padding, dilation=dilation, groups=groups,
                          nhwc=nhwc)
        xl, yl, dxl, dyl = (to_layout(t, nhwc) for t in (x, y, dx, dy))
        if bias:
            r.case("conv2d", [xl, weight, b], [yl + to_layout(b[None, :, None, None], nhwc)],
                   **attributes)
        else:
            r.case("conv2d", [xl, weight], [yl], **attributes)
        r.case("conv2d_transpose", [dyl, weight], [dxl], shape=xl.shape, **attributes)
        r.case("conv2d_weight_grad", [xl, dyl], [dw], shape=weight.shape, **attributes)


conv(2, 3, 5, 6, 4, 3, 3)
conv(2, 3, 5, 6, 4, 3, 3, padding=(1, 1, 1, 1), bias=True)
conv(1, 2, 7, 6, 3, 3, 2, stride=(2, 3), padding=(0, 1, 2, 0), bias=True)
conv(2, 2, 8, 7, 2, 3, 3, dilation=(2, 1), padding=(1, 2, 0, 1))
conv(2, 4, 5, 5, 6, 3, 3, groups=2, padding=(1, 1, 1, 1), bias=True)
conv(2, 4, 5, 6, 4, 3, 3, groups=4, padding=(1, 1, 1, 1))
conv(1, 4, 5, 6, 8, 3, 3, groups=4, stride=(2, 2))
conv(2, 17, 3, 4, 5, 1, 1)
conv(1, 16, 4, 4, 8, 3, 3, padding=(1, 1, 1, 1))
conv(1, 1, 3, 3, 1, 3, 3)
conv(2, 3, 6, 6, 4, 1, 1, stride=(2, 2))
conv(0, 3, 5, 5, 4, 3, 3, bias=True)
conv(2, 3, 5, 5, 4, 2, 2, stride=(3, 3))
r.write()
