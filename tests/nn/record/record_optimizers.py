"""Fifty steps of every optimizer with odd settings, and the rates of every schedule, as PyTorch
computes them in float64; where PyTorch has none, by the formulas of the papers.

    python tests/nn/record/record_optimizers.py

writes tests/nn/recorded/optimizers_long.safetensors for tests/optim/recorded_steps_test.cpp: the
parameters at the start (start.0 [3, 5], start.1 [4]), all gradients, and NAME.0 and NAME.1, the
parameters after each of the steps in CHECKED. Gradients are 0 in some steps and in some elements
always. Settings are exact in float32, as rates are f32 scalars.
"""

import numpy as np
import torch

from torch_cases import save

STEPS, CHECKED = 50, (1, 2, 10, 50)
random = np.random.default_rng(77)


def exact(*shape, scale=1.0):
    return np.asarray(random.standard_normal(shape) * scale, np.float32)


START = [exact(3, 5), exact(4)]
GRADIENTS = [exact(STEPS, 3, 5), exact(STEPS, 4, scale=4.0)]
GRADIENTS[0][:, 1, :] = 0            # a row that never has one: of a word that is not read
GRADIENTS[0][:, 2, 3] = 0
GRADIENTS[0][20:23], GRADIENTS[1][20:23] = 0, 0
GRADIENTS[0][0] = 0                  # the first step of one of them
GRADIENTS[1][30:, 0] *= 1e-6         # one that all but vanishes
tensors = {"start.0": START[0], "start.1": START[1], "gradient.0": GRADIENTS[0], "gradient.1": GRADIENTS[1]}


def record(name, step):
    """`step` takes the number of the step and the gradients, and gives the parameters."""
    kept = [[], []]
    for t in range(1, STEPS + 1):
        parameters = step(t, [g[t - 1].astype(np.float64) for g in GRADIENTS])
        if t in CHECKED:
            for i, p in enumerate(parameters):
                kept[i].append(np.array(p, np.float64))
    for i, values in enumerate(kept):
        tensors[f"{name}.{i}"] = np.stack(values)


def of_torch(name, make, schedule=None):
    parameters = [torch.nn.Parameter(torch.from_numpy(p).double()) for p in START]
    optimizer = make(parameters)
    rates = schedule(optimizer) if schedule else None

    def step(t, gradients):
        for p, g in zip(parameters, gradients):
            p.grad = torch.from_numpy(g)
        optimizer.step()
        if rates is not None:
            rates.step()
        return [p.detach().numpy() for p in parameters]

    record(name, step)


def of_paper(name, rule):
    """`rule` takes parameter, gradient, state and the number of the step, from 1 on."""
    parameters, states = [p.astype(np.float64) for p in START], [{}, {}]

    def step(t, gradients):
        for i, g in enumerate(gradients):
            parameters[i] = rule(parameters[i], g, states[i], t)
        return parameters

    record(name, step)


o = torch.optim
of_torch("sgd", lambda p: o.SGD(p, lr=9 / 128, weight_decay=3 / 64))
of_torch("sgd_momentum", lambda p: o.SGD(p, lr=5 / 128, momentum=0.8125, weight_decay=1 / 8))
of_torch("sgd_nesterov", lambda p: o.SGD(p, lr=5 / 128, momentum=0.9375, nesterov=True, weight_decay=1 / 16))
of_torch("adam", lambda p: o.Adam(p, lr=3 / 64, betas=(0.75, 0.9375), eps=1 / 1024, weight_decay=1 / 4))
of_torch("adam_without_first", lambda p: o.Adam(p, lr=3 / 64, betas=(0.0, 0.9375), eps=1 / 1024))
of_torch("adam_without_second", lambda p: o.Adam(p, lr=3 / 64, betas=(0.75, 0.0), eps=1 / 64))
of_torch("adamw", lambda p: o.AdamW(p, lr=3 / 64, betas=(0.625, 0.9921875), weight_decay=3 / 4))
of_torch("adamw_without_first", lambda p: o.AdamW(p, lr=3 / 64, betas=(0.0, 0.96875), weight_decay=1 / 4))
of_torch("adagrad", lambda p: o.Adagrad(p, lr=5 / 64, lr_decay=1 / 8, initial_accumulator_value=3 / 8, eps=1 / 256,
                                        weight_decay=1 / 16))
of_torch("adagrad_from_zero", lambda p: o.Adagrad(p, lr=5 / 64))
of_torch("adadelta", lambda p: o.Adadelta(p, lr=3 / 4, rho=0.78125, eps=1 / 512, weight_decay=1 / 16))
of_torch("nadam", lambda p: o.NAdam(p, lr=3 / 128, betas=(0.875, 0.96875), eps=1 / 512, momentum_decay=1 / 32,
                                    weight_decay=1 / 8))
of_torch("nadam_without_first", lambda p: o.NAdam(p, lr=3 / 128, betas=(0.0, 0.96875)))
of_torch("adafactor", lambda p: o.Adafactor(p, lr=5 / 64, beta2_decay=-0.625, eps=(1 / 1024, 1 / 64), d=1.25,
                                            weight_decay=1 / 4))
of_torch("groups", lambda p: o.AdamW([{"params": p[:1]}, {"params": p[1:], "lr": 10 / 256, "weight_decay": 0.0}],
                                     lr=1 / 256, weight_decay=1 / 2))


def rmsprop(momentum):
    """Keras's, with PyTorch's weight decay."""
    def rule(p, g, s, t):
        g = g + p / 16
        s["v"] = 0.8125 * s.get("v", 0) + 0.1875 * g * g
        step = g / np.sqrt(s["v"] + 1 / 1024) * (3 / 128)
        s["m"] = momentum * s.get("m", 0) + step
        return p - s["m"]
    return rule


of_paper("rmsprop", rmsprop(0.0))
of_paper("rmsprop_momentum", rmsprop(0.6875))


def lion(p, g, s, t):
    """Chen et al. 2023, algorithm 2."""
    m = s.get("m", np.zeros_like(p))
    s["m"] = 0.96875 * m + 0.03125 * g
    return p - 3 / 256 * (np.sign(0.8125 * m + 0.1875 * g) + 0.5 * p)


of_paper("lion", lion)


def lamb(beta1):
    """You et al. 2019, algorithm 2, with phi(x) = x."""
    def rule(p, g, s, t):
        s["m"] = beta1 * s.get("m", 0) + (1 - beta1) * g
        s["v"] = 0.9375 * s.get("v", 0) + 0.0625 * g * g
        r = s["m"] / (1 - beta1 ** t) / (np.sqrt(s["v"] / (1 - 0.9375 ** t)) + 1 / 1024) + p / 8
        lengths = np.linalg.norm(p), np.linalg.norm(r)
        return p - 3 / 128 * (lengths[0] / lengths[1] if min(lengths) > 0 else 1) * r
    return rule


of_paper("lamb", lamb(0.8125))
of_paper("lamb_without_first", lamb(0.0))


def lazy_adam(p, g, s, t):
    """Adam of the rows of a matrix that have a gradient; of a vector, all of it."""
    m, v = s.get("m", np.zeros_like(p)), s.get("v", np.zeros_like(p))
    read = np.broadcast_to(g.any(-1, keepdims=True) if p.ndim == 2 else True, p.shape)
    s["m"] = np.where(read, 0.75 * m + 0.25 * g, m)
    s["v"] = np.where(read, 0.9375 * v + 0.0625 * g * g, v)
    step = s["m"] / (1 - 0.75 ** t) / (np.sqrt(s["v"] / (1 - 0.9375 ** t)) + 1 / 1024)
    return np.where(read, p - 3 / 64 * step, p)


of_paper("lazy_adam", lazy_adam)

# ------------------------------------------------------------------------------------ schedules
L = torch.optim.lr_scheduler
WARM = 7


def rates_of(name, make, rate=0.3, steps=70):
    optimizer = o.SGD([torch.nn.Parameter(torch.zeros(1))], lr=rate)
    schedule, rates = make(optimizer), []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    tensors[f"rates.{name}"] = np.array(rates)


def step_30(q):
    return L.StepLR(q, step_size=13, gamma=0.7)


def cosine(q):
    """PyTorch's goes up again after T_max; ours stays."""
    return L.SequentialLR(q, [L.CosineAnnealingLR(q, T_max=41, eta_min=0.02), L.ConstantLR(q, factor=0.02 / 0.3,
                                                                                           total_iters=1000)], [41])


rates_of("step", step_30)
rates_of("cosine", cosine)
rates_of("warm_restarts", lambda q: L.CosineAnnealingWarmRestarts(q, T_0=9, T_mult=2, eta_min=0.01))
rates_of("warm_restarts_alike", lambda q: L.CosineAnnealingWarmRestarts(q, T_0=11, T_mult=1))
rates_of("polynomial", lambda q: L.PolynomialLR(q, total_iters=33, power=1.7))
rates_of("exponential", lambda q: L.ExponentialLR(q, gamma=0.93))
rates_of("piecewise", lambda q: L.MultiStepLR(q, milestones=[5, 6, 40], gamma=0.5))
rates_of("one_cycle", lambda q: L.OneCycleLR(q, max_lr=0.3, total_steps=70, pct_start=0.37, div_factor=7,
                                             final_div_factor=300, cycle_momentum=False))
rates_of("custom", lambda q: L.LambdaLR(q, lambda t: 1 / (1 + t / 3)))
# Ours reaches the rate in the last of the steps: linear from 1/7 to 1.
rates_of("warm_up", lambda q: L.SequentialLR(q, [L.LinearLR(q, start_factor=1 / WARM, total_iters=WARM - 1),
                                                 L.StepLR(q, step_size=13, gamma=0.7)], [WARM]))
of_torch("sgd_cosine", lambda p: o.SGD(p, lr=0.25, momentum=0.5), lambda q: L.CosineAnnealingLR(q, T_max=50))

save("optimizers_long", tensors)
