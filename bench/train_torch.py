"""Training steps of the same models in PyTorch, for bench/train.sh.

    train_torch.py MODEL:BATCH:MODE[:PRECISION[:BUDGET]] ...

MODE is eager, compile, or warm (compiles and runs twice); PRECISION bf16, f16, tf32 or f32; BUDGET is
torch.compile's activation_memory_budget. A line of JSON each.
"""

import gc
import json
import subprocess
import os
import statistics
import sys
import threading
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

import zoo_torch


class Block(nn.Module):
    def __init__(self, features, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(features)
        self.norm2 = nn.LayerNorm(features)
        self.qkv = nn.Linear(features, 3 * features)
        self.out = nn.Linear(features, features)
        self.up = nn.Linear(features, 4 * features)
        self.down = nn.Linear(4 * features, features)

    def forward(self, x):
        n, tokens, features = x.shape
        q, k, v = self.qkv(self.norm1(x)).split(features, dim=2)
        q, k, v = (
            part.view(n, tokens, self.heads, features // self.heads).transpose(1, 2)
            for part in (q, k, v)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(n, tokens, features))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    """GPT-2 small without dropout, the head tied to the embedding."""

    def __init__(self, vocabulary=50257, context=1024, features=768, layers=12, heads=12):
        super().__init__()
        self.words = nn.Embedding(vocabulary, features)
        self.places = nn.Embedding(context, features)
        self.blocks = nn.ModuleList(Block(features, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(features)

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.size(1), device=ids.device))
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.words.weight)


def gpt2(batch):
    model = Gpt2().cuda()
    ids = torch.randint(0, 50257, (batch, 1024), device="cuda")
    labels = torch.randint(0, 50257, (batch, 1024), device="cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def loss():
        logits = model(ids)
        return F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1))

    return loss, optimizer


def pictures(model, batch, optimizer, channels_last=False):
    x = torch.randn(batch, 3, 224, 224, device="cuda")
    if channels_last:
        x = x.contiguous(memory_format=torch.channels_last)
    y = torch.randint(0, 1000, (batch,), device="cuda")
    return lambda: F.cross_entropy(model(x), y), optimizer


def vit_b16(batch):
    import timm

    model = timm.create_model("vit_base_patch16_224").cuda()
    return pictures(model, batch, torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True))


def resnet50(batch):
    import torchvision

    model = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=True)
    return pictures(model, batch, optimizer, channels_last=True)


def timm_adamw(name, batch, channels_last):
    import timm

    model = timm.create_model(name).cuda()
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    return pictures(model, batch, optimizer, channels_last)


def mixer_b16(batch):
    return timm_adamw("mixer_b16_224", batch, False)


def convnext_t(batch):
    return timm_adamw("convnext_tiny", batch, True)


class DoubleConv(nn.Sequential):
    def __init__(self, before, after):
        layers = []
        for channels in (before, after):
            layers += [
                nn.Conv2d(channels, after, 3, padding=1, bias=False),
                nn.BatchNorm2d(after),
                nn.ReLU(inplace=True),
            ]
        super().__init__(*layers)


class Unet(nn.Module):
    def __init__(self, channels=3, classes=2, width=64, levels=4):
        super().__init__()
        widths = [width * 2**i for i in range(levels + 1)]
        self.inside = DoubleConv(channels, width)
        self.down = nn.ModuleList(DoubleConv(w, 2 * w) for w in widths[:-1])
        self.up = nn.ModuleList(nn.ConvTranspose2d(w, w // 2, 2, stride=2) for w in widths[:0:-1])
        self.conv = nn.ModuleList(DoubleConv(w, w // 2) for w in widths[:0:-1])
        self.outside = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        x = self.inside(x)
        beside = []
        for down in self.down:
            beside.append(x)
            x = down(F.max_pool2d(x, 2))
        for up, conv in zip(self.up, self.conv):
            x = conv(torch.cat([beside.pop(), up(x)], dim=1))
        return self.outside(x)


def unet(batch):
    model = Unet().cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=True)
    x = torch.randn(batch, 3, 256, 256, device="cuda").contiguous(memory_format=torch.channels_last)
    y = torch.randint(0, 2, (batch, 256, 256), device="cuda")
    return lambda: F.cross_entropy(model(x), y), optimizer


MODELS = {
    "gpt2": gpt2,
    "vit_b16": vit_b16,
    "resnet50": resnet50,
    "unet": unet,
    "mixer_b16": mixer_b16,
    "convnext_t": convnext_t,
    **zoo_torch.MODELS,
}


class Watch:
    """What the driver says this process holds, at its highest."""

    def __init__(self):
        self.peak = 0
        self.done = False
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def look(self):
        while not self.done:
            free, total = torch.cuda.mem_get_info()
            self.peak = max(self.peak, total - free)
            time.sleep(0.01)


def measure(name, batch, mode, precision="bf16", budget=None, warm=6, steps=15):
    start = time.perf_counter()
    torch._dynamo.reset()
    gc.collect()
    torch.cuda.empty_cache()
    forward, optimizer = MODELS[name](batch)

    narrow = {"bf16": torch.bfloat16, "f16": torch.float16}.get(precision)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"

    def loss_of():
        with torch.autocast("cuda", dtype=narrow or torch.bfloat16, enabled=narrow is not None):
            return forward()

    if mode == "warm":
        warm = steps = 1
    if mode != "eager":
        import torch._functorch.config as config

        config.activation_memory_budget = 1.0 if budget is None else budget
        loss_of = torch.compile(loss_of)

    scaler = torch.amp.GradScaler("cuda", enabled=precision == "f16")

    def step():
        loss = loss_of()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        return loss

    step()
    torch.cuda.synchronize()
    ready = time.perf_counter() - start
    for _ in range(warm - 1):
        step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    watch = Watch()
    times = []
    for _ in range(steps):
        began, ended = torch.cuda.Event(True), torch.cuda.Event(True)
        began.record()
        loss = step()
        ended.record()
        ended.synchronize()
        times.append(began.elapsed_time(ended))
    watch.done = True
    return {
        "model": name,
        "batch": batch,
        "mode": mode,
        "budget": budget,
        "ms": statistics.median(times),
        "peak_mib": torch.cuda.max_memory_allocated() / 2**20,
        "reserved_mib": torch.cuda.max_memory_reserved() / 2**20,
        "driver_mib": watch.peak / 2**20,
        "ready_s": ready,
        "loss": float(loss),
    }


def main():
    if len(sys.argv) == 2:
        name, batch, mode, *more = sys.argv[1].split(":")
        print(json.dumps(measure(name, int(batch), mode, *more[:1], *map(float, more[1:]))))
        return
    # A process each: what one leaves in the allocator is not the next one's.
    for work in sys.argv[1:]:
        subprocess.run([sys.executable, os.path.abspath(__file__), work], check=False)


if __name__ == "__main__":
    main()
