"""Models as they are written from the documentation, for test_practice.py: each has a loss of what it
gives and the target. theirs.py has the same in PyTorch, with the same names of parameters."""

from __future__ import annotations

import math
from typing import Any

import plimsoll as pm
from plimsoll import nn


class Conformer(nn.Module):
    """Gulati et al. 2020: one block, and classes of its mean."""

    def __init__(self, features: int = 8, heads: int = 2, size: int = 5) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.LayerNorm(), nn.Dense(4 * features), nn.SiLU(), nn.Dense(features))
        self.norm = nn.LayerNorm()
        self.attend = nn.MultiHeadAttention(features, heads)
        self.before = nn.LayerNorm()
        self.wide = nn.Conv1D(2 * features, 1)
        self.depthwise = nn.Conv1D(features, size, padding="same", groups=features)
        self.batch_norm = nn.BatchNorm()
        self.narrow = nn.Conv1D(features, 1)
        self.second = nn.Sequential(nn.LayerNorm(), nn.Dense(4 * features), nn.SiLU(), nn.Dense(features))
        self.last = nn.LayerNorm()
        self.head = nn.Dense(3)

    def forward(self, x: Any) -> Any:
        x = x + self.first(x) * 0.5
        x = x + self.attend(self.norm(x))
        y = nn.glu(self.wide(self.before(x).swapaxes(1, 2)), axis=1)
        y = self.narrow(pm.silu(self.batch_norm(self.depthwise(y))))
        x = x + y.swapaxes(1, 2)
        x = self.last(x + self.second(x) * 0.5)
        return self.head(x.mean(axis=1))

    @staticmethod
    def loss(y: Any, labels: Any) -> Any:
        return nn.cross_entropy(y, labels, smoothing=0.1)


class WindowAttention(nn.Module):
    """Swin, Liu et al. 2021: attention in shifted windows of 2 x 2 with a bias by relative position."""

    def __init__(self, features: int = 8, heads: int = 2, window: int = 2, shift: int = 1) -> None:
        super().__init__()
        self.heads, self.window, self.shift = heads, window, shift
        self.qkv = nn.Dense(3 * features)
        self.project = nn.Dense(features)
        self.table = nn.Parameter(((2 * window - 1) ** 2, heads), init=0.02)
        places = [(i, j) for i in range(window) for j in range(window)]
        self.places = pm.tensor([[(a - c + window - 1) * (2 * window - 1) + b - d + window - 1 for c, d in places]
                                 for a, b in places])
        self.head = nn.Dense(1)

    def forward(self, x: Any) -> Any:
        n, height, width, features = x.shape
        w = self.window
        y = pm.roll(pm.roll(x, -self.shift, 1), -self.shift, 2)
        y = y.reshape(n, height // w, w, width // w, w, features).transpose(0, 1, 3, 2, 4, 5)
        y = y.reshape(-1, w * w, features)
        q, k, v = (nn.split_heads(each, self.heads) for each in pm.split(self.qkv(y), [features] * 3, axis=-1))
        bias = pm.gather(self.table, self.places).transpose(2, 0, 1)
        y = self.project(nn.merge_heads(nn.attention(q, k, v, bias=pm.expand_dims(bias, 0))))
        y = y.reshape(n, height // w, width // w, w, w, features).transpose(0, 1, 3, 2, 4, 5)
        y = y.reshape(n, height, width, features)
        return self.head(x + pm.roll(pm.roll(y, self.shift, 1), self.shift, 2))

    @staticmethod
    def loss(y: Any, target: Any) -> Any:
        return nn.huber(y, target, delta=0.5)


class UNet1D(nn.Module):
    def __init__(self, channels: int = 4) -> None:
        super().__init__()
        self.down = [nn.Conv1D(channels, 3, padding=1), nn.Conv1D(2 * channels, 4, stride=2, padding=1)]
        self.norms = [nn.GroupNorm(2), nn.GroupNorm(2)]
        self.middle = nn.Conv1D(2 * channels, 3, padding=2, dilation=2)
        self.up = nn.ConvTranspose1D(channels, 4, stride=2, padding=1)
        self.out = nn.Conv1D(1, 3, padding="same")

    def forward(self, x: Any) -> Any:
        beside = pm.gelu(self.norms[0](self.down[0](x)))
        y = pm.gelu(self.norms[1](self.down[1](beside)))
        y = self.up(nn.mish(self.middle(y)))
        return self.out(pm.concat([beside, y], axis=1))

    @staticmethod
    def loss(y: Any, target: Any) -> Any:
        slopes, wanted = (each[..., 1:] - each[..., :-1] for each in (y, target))
        return nn.mean_absolute_error(y, target) + nn.mean_squared_error(slopes, wanted)


class TCN(nn.Module):
    """Bai et al. 2018: causal convolutions whose dilation doubles."""

    def __init__(self, channels: int = 6, levels: int = 3) -> None:
        super().__init__()
        self.convs = [nn.Conv1D(channels, 3, dilation=2**i, padding="causal") for i in range(levels)]
        self.beside = [nn.Conv1D(channels, 1) for _ in range(levels)]
        self.head = nn.Dense(4)

    def forward(self, x: Any) -> Any:
        for conv, beside in zip(self.convs, self.beside):
            x = pm.relu(pm.relu(conv(x)) + beside(x))
        return self.head(x[:, :, -1])

    @staticmethod
    def loss(y: Any, labels: Any) -> Any:
        return nn.focal(y, labels)


class Seq2Seq(nn.Module):
    """A GRU that reads padded sentences and one that writes, with attention on what was read."""

    def __init__(self, words: int = 11, features: int = 8) -> None:
        super().__init__()
        self.read, self.write = nn.Embedding(words, features), nn.Embedding(words, features)
        self.encoder = nn.GRU(features, bidirectional=True)
        self.decoder = nn.GRU(2 * features)
        self.query = nn.Dense(2 * features, bias=False)
        self.head = nn.Dense(words)

    def forward(self, source: Any, lengths: Any, target: Any) -> Any:
        steps, state = self.encoder(self.read(source), lengths)
        state = pm.concat([state[0:1], state[1:2]], axis=-1)
        written, _, _ = self.decoder.run(self.write(target), h=state)
        scores = pm.einsum("bqf,bkf->bqk", self.query(written), steps)
        there = pm.arange(source.shape[1]) < pm.expand_dims(lengths, 1)
        weights = pm.softmax(pm.where(pm.expand_dims(there, 1), scores, -1e9), axis=-1)
        return self.head(pm.tanh(pm.concat([weights @ steps, written], axis=-1)))

    @staticmethod
    def loss(y: Any, labels: Any) -> Any:
        return nn.cross_entropy(y, labels)


class DeepFM(nn.Module):
    """Guo et al. 2017: fields of categories, their pairs, and a perceptron over both."""

    def __init__(self, sizes: tuple[int, ...] = (5, 7, 3, 9), features: int = 4) -> None:
        super().__init__()
        self.starts = pm.tensor([sum(sizes[:i]) for i in range(len(sizes))])
        self.table, self.linear = nn.Embedding(sum(sizes), features), nn.Embedding(sum(sizes), 1)
        self.deep = nn.Sequential(nn.Dense(16), nn.ReLU(), nn.Dense(1))

    def forward(self, fields: Any, numbers: Any) -> Any:
        ids = fields + self.starts
        v = self.table(ids)
        pairs = 0.5 * (pm.square(v.sum(axis=1)) - pm.square(v).sum(axis=1)).sum(axis=1, keepdims=True)
        deep = self.deep(pm.concat([v.flatten(1), numbers], axis=1))
        return self.linear(ids).sum(axis=1) + pairs + deep

    @staticmethod
    def loss(y: Any, clicked: Any) -> Any:
        return nn.binary_cross_entropy(y, clicked)


class Siamese(nn.Module):
    """One net for three pictures: an anchor, one like it, and one that is not."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Conv2D(4, 3, padding=1), nn.LeakyReLU(0.1), nn.MaxPool2D(2), nn.Conv2D(8, 3, stride=2),
                                 nn.ELU(), nn.Flatten(), nn.Dense(5))

    def forward(self, *pictures: Any) -> Any:
        made = [self.net(each) for each in pictures]
        return tuple(each / pm.norm(each, axis=-1, keepdims=True) for each in made)

    @staticmethod
    def loss(y: Any, weights: Any) -> Any:
        anchor, positive, negative = y
        near = pm.square(anchor - positive).sum(axis=-1)
        far = pm.square(anchor - negative).sum(axis=-1)
        return (pm.relu(near - far + 0.8) * weights).mean()


class Critic(nn.Module):
    """WGAN-GP, Gulrajani et al. 2017: the critic's loss with the penalty on its gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Dense(16), nn.Tanh(), nn.Dense(16), nn.LeakyReLU(0.2), nn.Dense(1))

    def forward(self, real: Any, fake: Any, share: Any) -> Any:
        mixed = real * share + fake * (1 - share)
        with pm.GradientTape() as tape:
            tape.watch(mixed)
            score = self.net(mixed).sum()
        return self.net(real), self.net(fake), tape.gradient(score, mixed)

    @staticmethod
    def loss(y: Any, factor: Any) -> Any:
        real, fake, slopes = y
        penalty = pm.square(pm.norm(slopes, axis=-1) - 1.0)
        return fake.mean() - real.mean() + (factor * penalty).mean()


class VAE(nn.Module):
    """Kingma and Welling 2013; the noise comes with the data, so that it is the same everywhere."""

    def __init__(self, hidden: int = 3) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Dense(12), nn.SELU(), nn.Dense(2 * hidden))
        self.decoder = nn.Sequential(nn.Dense(12), nn.Softplus(), nn.Dense(10))

    def forward(self, x: Any, noise: Any) -> Any:
        mean, log_variance = pm.split(self.encoder(x), [noise.shape[-1]] * 2, axis=-1)
        z = mean + noise * pm.exp(0.5 * log_variance)
        return self.decoder(z), mean, log_variance

    @staticmethod
    def loss(y: Any, target: Any) -> Any:
        made, mean, log_variance = y
        kl = -0.5 * (1 + log_variance - pm.square(mean) - pm.exp(log_variance)).sum(axis=-1).mean()
        return nn.binary_cross_entropy(made, target) * target.shape[-1] + 0.5 * kl


class MixtureOfExperts(nn.Module):
    """Shazeer et al. 2017: each token goes to the two best of four experts, and a loss balances them."""

    def __init__(self, features: int = 6, experts: int = 4, hidden: int = 8) -> None:
        super().__init__()
        self.experts = experts
        self.gate = nn.Dense(experts, bias=False)
        self.into = nn.Parameter((experts, features, hidden), init=0.3)
        self.out = nn.Parameter((experts, hidden, features), init=0.3)
        self.head = nn.Dense(3)

    def forward(self, x: Any) -> Any:
        scores = self.gate(x)
        best, which = pm.top_k(scores, 2)
        weights = (pm.expand_dims(pm.softmax(best), -1) * pm.one_hot(which, self.experts)).sum(axis=-2)
        hidden = pm.gelu(pm.einsum("...f,efh->...eh", x, self.into))
        y = pm.einsum("...eh,ehf,...e->...f", hidden, self.out, weights)
        used = (weights > 0).to(pm.f32).mean(axis=(0, 1))
        balance = self.experts * (used * pm.softmax(scores).mean(axis=(0, 1))).sum()
        return self.head(x + y), balance

    @staticmethod
    def loss(y: Any, labels: Any) -> Any:
        return nn.cross_entropy(y[0], labels) + 0.1 * y[1]


class Mab(nn.Module):
    """What set transformers are made of: attention of one set on another."""

    def __init__(self, features: int, heads: int) -> None:
        super().__init__()
        self.attend = nn.MultiHeadAttention(features, heads)
        self.norm, self.dense, self.last = nn.LayerNorm(), nn.Dense(features), nn.LayerNorm()

    def forward(self, x: Any, y: Any) -> Any:
        h = self.norm(x + self.attend(x, y, y))
        return self.last(h + pm.relu(self.dense(h)))


class SetTransformer(nn.Module):
    """Lee et al. 2019: induced points, then pooling by attention of seeds."""

    def __init__(self, features: int = 8, heads: int = 2, points: int = 3) -> None:
        super().__init__()
        self.embed = nn.Dense(features)
        self.points, self.seed = nn.Parameter((1, points, features), init=0.5), nn.Parameter((1, 1, features), init=0.5)
        self.blocks = [Mab(features, heads) for _ in range(3)]
        self.head = nn.Dense(1)

    def forward(self, x: Any) -> Any:
        n, x = x.shape[0], self.embed(x)
        points = pm.broadcast_to(self.points, (n, *self.points.shape[1:]))
        x = self.blocks[1](x, self.blocks[0](points, x))
        return self.head(self.blocks[2](pm.broadcast_to(self.seed, (n, *self.seed.shape[1:])), x)[:, 0])

    @staticmethod
    def loss(y: Any, target: Any) -> Any:
        return nn.log_cosh(y, target)


class NeRF(nn.Module):
    """Mildenhall et al. 2020: positions in sines and cosines, a net with a skip, and rays that are rendered."""

    def __init__(self, waves: int = 3, hidden: int = 12) -> None:
        super().__init__()
        self.waves = waves
        self.first = nn.Sequential(nn.Dense(hidden), nn.ReLU(), nn.Dense(hidden), nn.ReLU())
        self.second = nn.Sequential(nn.Dense(hidden), nn.ReLU(), nn.Dense(4))

    def forward(self, points: Any, steps: Any) -> Any:
        angles = [points * (2.0**i * math.pi) for i in range(self.waves)]
        x = pm.concat([points, *(f(each) for each in angles for f in (pm.sin, pm.cos))], axis=-1)
        y = self.second(pm.concat([self.first(x), x], axis=-1))
        opaque = 1 - pm.exp(-pm.softplus(y[..., 3]) * steps)
        weights = opaque * pm.cumprod(1 - opaque + 1e-6, axis=-1, exclusive=True)
        return (pm.expand_dims(weights, -1) * pm.sigmoid(y[..., :3])).sum(axis=-2)

    @staticmethod
    def loss(y: Any, colours: Any) -> Any:
        return nn.mean_squared_error(y, colours)


class GCN(nn.Module):
    """Kipf and Welling 2016: two layers over the edges of a graph, which is a batch of one; nodes without a
    label do not count."""

    def __init__(self, hidden: int = 6, classes: int = 3) -> None:
        super().__init__()
        self.first, self.second = nn.Dense(hidden, bias=False), nn.Dense(classes)

    def forward(self, x: Any, edges: Any) -> Any:
        x, edges = x[0], edges[0]
        loops = pm.arange(x.shape[0])
        start, end = pm.concat([edges[:, 0], loops]), pm.concat([edges[:, 1], loops])
        degree = pm.scatter_add(pm.ones((start.shape[0],)), end, (x.shape[0],))
        share = pm.rsqrt(pm.gather(degree, start) * pm.gather(degree, end))

        def mixed(h: Any) -> Any:
            return pm.scatter_add(pm.gather(h, start) * pm.expand_dims(share, 1), end, h.shape)

        return pm.expand_dims(self.second(mixed(pm.relu(mixed(self.first(x))))), 0)

    @staticmethod
    def loss(y: Any, labels: Any) -> Any:
        return nn.cross_entropy(y, labels)


class Speech(nn.Module):
    """A convolution, an LSTM in both directions, and CTC."""

    def __init__(self, features: int = 6, classes: int = 5) -> None:
        super().__init__()
        self.conv = nn.Conv1D(features, 3, stride=2, padding=1)
        self.lstm = nn.LSTM(features, layers=2, bidirectional=True)
        self.head = nn.Dense(classes)

    def forward(self, sound: Any, lengths: Any) -> Any:
        x = nn.hard_tanh(self.conv(sound.swapaxes(1, 2))).swapaxes(1, 2)
        lengths = pm.cast((pm.cast(lengths, "f32") + 1) / 2, pm.i64)
        steps, _, _ = self.lstm(x, lengths)
        return self.head(steps), lengths

    @staticmethod
    def loss(y: Any, labels: Any) -> Any:
        return nn.ctc_loss(y[0], labels, y[1])


class PixelCNN(nn.Module):
    """van den Oord et al. 2016: convolutions that see only what lies before, with gates."""

    def __init__(self, channels: int = 6, levels: int = 4) -> None:
        super().__init__()
        self.first = nn.Parameter((2 * channels, 1, 5, 5), init=0.2)
        self.second = nn.Parameter((2 * channels, channels, 3, 3), init=0.2)
        self.biases = [pm.Variable(pm.zeros((2 * channels,))) for _ in range(2)]
        self.out = nn.Conv2D(levels, 1)
        self.masks = [self.mask(5, 0), self.mask(3, 1)]

    @staticmethod
    def mask(size: int, middle: int) -> pm.Tensor:
        half = size // 2
        return pm.tensor([[[[float(i < half or (i == half and j < half + middle)) for j in range(size)]
                            for i in range(size)]]])

    def forward(self, x: Any) -> Any:
        for weight, bias, mask in zip((self.first, self.second), self.biases, self.masks):
            y = pm.conv2d(x, weight * mask, bias, padding=mask.shape[-1] // 2)
            a, b = pm.split(y, [y.shape[1] // 2] * 2, axis=1)
            x = pm.tanh(a) * pm.sigmoid(b)
        return self.out(x).transpose(0, 2, 3, 1)

    @staticmethod
    def loss(y: Any, levels: Any) -> Any:
        return nn.cross_entropy(y, levels)


MODELS: dict[str, Any] = {
    "conformer": Conformer, "window_attention": WindowAttention, "unet1d": UNet1D, "tcn": TCN, "seq2seq": Seq2Seq,
    "deepfm": DeepFM, "siamese": Siamese, "critic": Critic, "vae": VAE, "mixture_of_experts": MixtureOfExperts,
    "set_transformer": SetTransformer, "nerf": NeRF, "gcn": GCN, "speech": Speech, "pixelcnn": PixelCNN}
