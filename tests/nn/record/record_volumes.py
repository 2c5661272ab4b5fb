"""Records PyTorch's layers over volumes, and separable ones over sequences."""

from torch import nn
from torch_cases import Cases

c = Cases("volumes", 51)
for name, shape, options in [
        ("plain", (2, 3, 4, 5, 6), dict(kernel_size=3, padding=1)),
        ("oblong", (2, 4, 5, 4, 6), dict(kernel_size=(2, 1, 3), stride=(2, 1, 2), padding=(1, 0, 1), groups=2)),
        ("dilated", (1, 3, 7, 6, 5), dict(kernel_size=(3, 2, 2), dilation=(2, 1, 3), bias=False)),
        ("same", (1, 3, 4, 3, 5), dict(kernel_size=(3, 2, 4), padding="same")),
        ("one", (2, 3, 1, 1, 1), dict(kernel_size=1)),
        ("strided", (1, 2, 6, 5, 5), dict(kernel_size=2, stride=(3, 2, 2)))]:
    c.module(f"conv_{name}", nn.Conv3d(shape[1], 4, **options), [c.normal(*shape)])
for name, shape, options in [
        ("plain", (2, 4, 3, 2, 3), dict(kernel_size=2, stride=2)),
        ("overlap", (1, 4, 3, 3, 2), dict(kernel_size=3, stride=2, padding=1, output_padding=1)),
        ("groups", (2, 4, 2, 3, 3), dict(kernel_size=(3, 2, 1), stride=(1, 2, 1), dilation=(2, 1, 1), groups=2)),
        ("cut", (1, 4, 4, 2, 2), dict(kernel_size=(4, 2, 2), stride=(2, 2, 2), padding=(2, 0, 0), bias=False))]:
    c.module(f"transpose_{name}", nn.ConvTranspose3d(4, 6, **options), [c.normal(*shape)])
volume = (2, 3, 5, 6, 4)
c.add("max_pool", nn.MaxPool3d((2, 3, 2), stride=(2, 1, 2), padding=(1, 1, 0)), [c.normal(*volume)])
c.add("max_pool_plain", nn.MaxPool3d(2), [c.normal(*volume)])
c.add("avg_pool", nn.AvgPool3d((3, 2, 2), stride=(1, 2, 1), padding=(1, 1, 1), count_include_pad=False),
      [c.normal(*volume)])
c.add("global_avg_pool", lambda x: x.mean((2, 3, 4)), [c.normal(*volume)])
c.add("global_max_pool", lambda x: x.amax((2, 3, 4)), [c.normal(*volume)])
c.module("batch_norm", nn.BatchNorm3d(3), [c.normal(*volume)])
c.module("depthwise1d", nn.Conv1d(3, 6, 3, padding=1, groups=3), [c.normal(2, 3, 7)])
separable = nn.Sequential()
separable.add_module("depthwise", nn.Conv1d(3, 6, 4, stride=2, groups=3, bias=False))
separable.add_module("pointwise", nn.Conv1d(6, 5, 1))
c.module("separable1d", separable, [c.normal(2, 3, 9)])
c.save()
