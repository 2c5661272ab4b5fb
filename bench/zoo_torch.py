"""The texts and choices of the zoo in PyTorch: each function gives a loss and an optimizer for a batch, at the
sizes of bench/zoo_batches.h. `tiny` ones are for trying them out, on the CPU as well."""

import torch
import torch.nn as nn
import torch.nn.functional as F


def adamw(model):
    parameters = list(model.parameters())
    return torch.optim.AdamW(parameters, lr=1e-3, fused=parameters[0].is_cuda)


class BertLayer(nn.Module):
    def __init__(self, features, hidden, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(features, 3 * features)
        self.out = nn.Linear(features, features)
        self.norm1 = nn.LayerNorm(features, eps=1e-12)
        self.up = nn.Linear(features, hidden)
        self.down = nn.Linear(hidden, features)
        self.norm2 = nn.LayerNorm(features, eps=1e-12)

    def forward(self, x, mask):
        n, tokens, features = x.shape
        q, k, v = (part.view(n, tokens, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(x).split(features, dim=2))
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = self.norm1(x + self.out(mixed.transpose(1, 2).reshape(n, tokens, features)))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class Bert(nn.Module):
    """BERT-base for masked words, without dropout; token 0 is padding. The decoder is tied."""

    def __init__(self, vocabulary=30522, context=512, features=768, hidden=3072, layers=12, heads=12):
        super().__init__()
        self.words = nn.Embedding(vocabulary, features)
        self.places = nn.Embedding(context, features)
        self.kinds = nn.Embedding(2, features)
        self.norm = nn.LayerNorm(features, eps=1e-12)
        self.layers = nn.ModuleList(BertLayer(features, hidden, heads) for _ in range(layers))
        self.transform = nn.Linear(features, features)
        self.transform_norm = nn.LayerNorm(features, eps=1e-12)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, ids):
        mask = (ids != 0)[:, None, None, :]
        places = torch.arange(ids.size(1), device=ids.device)
        x = self.norm(self.words(ids) + self.places(places) + self.kinds.weight[0])
        for layer in self.layers:
            x = layer(x, mask)
        x = self.transform_norm(F.gelu(self.transform(x)))
        return F.linear(x, self.words.weight, self.bias)


def bert(batch, device="cuda", tiny=False):
    size = dict(vocabulary=100, context=16, features=32, hidden=64, layers=2, heads=4) if tiny else {}
    vocabulary, tokens = (100, 16) if tiny else (30522, 384)
    model = Bert(**size).to(device)
    lengths = torch.randint(tokens // 2, tokens + 1, (batch, 1), device=device)
    filled = torch.arange(tokens, device=device)[None] < lengths
    ids = torch.where(filled, torch.randint(1, vocabulary, (batch, tokens), device=device), 0)
    chosen = filled & (torch.rand(batch, tokens, device=device) < 0.15)
    labels = torch.where(chosen, torch.randint(1, vocabulary, (batch, tokens), device=device), -100)

    def loss():
        logits = model(ids)
        return F.cross_entropy(logits.view(-1, vocabulary), labels.view(-1))

    return loss, adamw(model)


def rotated(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-b, a), dim=-1) * sin


class LlamaLayer(nn.Module):
    def __init__(self, features, hidden, heads, key_heads):
        super().__init__()
        self.heads, self.key_heads, self.size = heads, key_heads, features // heads
        self.norm1 = nn.RMSNorm(features, eps=1e-5)
        self.q = nn.Linear(features, features, bias=False)
        self.k = nn.Linear(features, key_heads * self.size, bias=False)
        self.v = nn.Linear(features, key_heads * self.size, bias=False)
        self.out = nn.Linear(features, features, bias=False)
        self.norm2 = nn.RMSNorm(features, eps=1e-5)
        self.gate = nn.Linear(features, hidden, bias=False)
        self.up = nn.Linear(features, hidden, bias=False)
        self.down = nn.Linear(hidden, features, bias=False)

    def forward(self, x, cos, sin):
        n, tokens, features = x.shape
        y = self.norm1(x)
        q = rotated(self.q(y).view(n, tokens, self.heads, self.size).transpose(1, 2), cos, sin)
        k = rotated(self.k(y).view(n, tokens, self.key_heads, self.size).transpose(1, 2), cos, sin)
        v = self.v(y).view(n, tokens, self.key_heads, self.size).transpose(1, 2)
        # Autocast leaves rotated queries and keys in f32.
        mixed = F.scaled_dot_product_attention(q.to(v.dtype), k.to(v.dtype), v, is_causal=True,
                                               enable_gqa=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(n, tokens, features))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, vocabulary=32000, context=1024, features=768, hidden=2048, layers=12, heads=12,
                 key_heads=4):
        super().__init__()
        self.words = nn.Embedding(vocabulary, features)
        self.layers = nn.ModuleList(LlamaLayer(features, hidden, heads, key_heads) for _ in range(layers))
        self.norm = nn.RMSNorm(features, eps=1e-5)
        self.head = nn.Linear(features, vocabulary, bias=False)
        size = features // heads
        speeds = 10000 ** (-torch.arange(0, size, 2).float() / size)
        angles = torch.outer(torch.arange(context).float(), speeds).repeat(1, 2)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, ids):
        x = self.words(ids)
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        return self.head(self.norm(x))


def next_words(model, batch, vocabulary, tokens, device):
    ids = torch.randint(0, vocabulary, (batch, tokens), device=device)
    labels = torch.randint(0, vocabulary, (batch, tokens), device=device)

    def loss():
        return F.cross_entropy(model(ids).reshape(-1, vocabulary), labels.view(-1))

    return loss, adamw(model)


def llama(batch, device="cuda", tiny=False):
    if tiny:
        size = dict(vocabulary=100, context=16, features=48, hidden=64, layers=2, heads=6, key_heads=2)
        return next_words(Llama(**size).to(device), batch, 100, 16, device)
    return next_words(Llama().to(device), batch, 32000, 1024, device)


class LstmLm(nn.Module):
    def __init__(self, vocabulary=10000, features=1024, hidden=1024, layers=2):
        super().__init__()
        self.encoder = nn.Embedding(vocabulary, features)
        self.rnn = nn.LSTM(features, hidden, layers, batch_first=True)
        self.decoder = nn.Linear(hidden, vocabulary)

    def forward(self, ids):
        return self.decoder(self.rnn(self.encoder(ids))[0])


def lstm_lm(batch, device="cuda", tiny=False):
    if tiny:
        return next_words(LstmLm(100, 32, 32).to(device), batch, 100, 16, device)
    return next_words(LstmLm().to(device), batch, 10000, 256, device)


def perceptron(widths, last):
    layers = []
    for before, after in zip(widths, widths[1:]):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*(layers[:-1] if last else layers))


class Dlrm(nn.Module):
    """Naumov et al. 2019, with a sparse EmbeddingBag for each table."""

    def __init__(self, rows=100000, features=64, tables=26, dense=13, bottom=(512, 256), top=(512, 256)):
        super().__init__()
        self.bottom = perceptron([dense, *bottom, features], False)
        self.tables = nn.ModuleList(
            nn.EmbeddingBag(rows, features, mode="sum", sparse=True, padding_idx=0) for _ in range(tables))
        pairs = (tables + 1) * tables // 2
        self.top = perceptron([features + pairs, *top, 1], True)
        below = torch.tril_indices(tables + 1, tables + 1, -1)
        self.register_buffer("below", below[0] * (tables + 1) + below[1], persistent=False)

    def forward(self, counts, ids):
        x = self.bottom(torch.log1p(counts.float()))
        bags = [table(ids[:, i]) for i, table in enumerate(self.tables)]
        vectors = torch.stack([x, *(bag.to(x.dtype) for bag in bags)], dim=1)
        products = torch.bmm(vectors, vectors.transpose(1, 2)).flatten(1)
        return self.top(torch.cat((x, products[:, self.below]), dim=1)).squeeze(1)


def dlrm(batch, device="cuda", tiny=False):
    rows, bag = (50, 4) if tiny else (100000, 20)
    size = dict(rows=50, features=8, bottom=(16,), top=(16,)) if tiny else {}
    model = Dlrm(**size).to(device)
    counts = torch.randint(0, 100, (batch, 13), device=device)
    filled = torch.arange(bag, device=device)[None, None] < torch.randint(1, bag + 1, (batch, 26, 1),
                                                                         device=device)
    ids = torch.where(filled, torch.randint(1, rows, (batch, 26, bag), device=device), 0)
    labels = torch.randint(0, 2, (batch,), device=device).float()

    def loss():
        return F.binary_cross_entropy_with_logits(model(counts, ids).float(), labels)

    return loss, torch.optim.SGD(model.parameters(), lr=0.1)


MODELS = {"bert": bert, "llama": llama, "lstm_lm": lstm_lm, "dlrm": dlrm}


def main():
    """Six steps of each in a tiny size, on the CPU: whether they run, and learn."""
    for name, make in MODELS.items():
        loss, optimizer = make(4, "cpu", tiny=True)
        seen = []
        for _ in range(6):
            value = loss()
            value.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            seen.append(float(value.detach()))
        print(f"{name:8} {seen[0]:.4f} -> {seen[-1]:.4f}{'' if seen[-1] < seen[0] else '  DOES NOT LEARN'}")


if __name__ == "__main__":
    main()
