"""Records PyTorch's losses and optimizers, and the papers' Lion and LAMB, which it does not have.

    python tests/nn/record/record_losses.py
"""

import torch
import torch.nn.functional as F

from torch_cases import Cases


def losses():
    c = Cases("losses", 6)

    def spread(*shape):
        return c.normal(*shape, scale=2)

    c.add("huber", lambda x, y: F.huber_loss(x, y, delta=0.7), [spread(5, 3), spread(5, 3)])
    c.add("smooth_l1", lambda x, y: F.smooth_l1_loss(x, y, beta=0.7), [spread(5, 3), spread(5, 3)])
    c.add("log_cosh", lambda x, y: ((x - y).cosh().log()).mean(), [spread(5, 3), spread(5, 3)])
    c.add("poisson", F.poisson_nll_loss, [c.normal(5, 3), c.normal(5, 3).abs().round()])
    signs = c.normal(6).sign()
    c.add("hinge", lambda x, y: (1 - x * y).clamp(min=0).mean(), [spread(6), signs])
    c.add("squared_hinge", lambda x, y: ((1 - x * y).clamp(min=0) ** 2).mean(), [spread(6), signs.detach().clone()])
    target = c.normal(4, 5).softmax(-1).bfloat16().double()
    target[1, 2] = 0.0
    c.add("kl_divergence", lambda x, y: F.kl_div(x, y, reduction="batchmean"),
          [c.normal(4, 5).log_softmax(-1).bfloat16().double(), target], skip=[1])

    labels = torch.tensor([2, 0, -100, 1, 2])
    weights = c.normal(3).abs() + 0.5
    weights = weights.bfloat16().double()
    for smoothing in [0.0, 0.2]:
        c.add(f"class_weights_{int(smoothing * 10)}",
              lambda x, y, w, s=smoothing: F.cross_entropy(x, y, weight=w.detach(), label_smoothing=s),
              [spread(5, 3), labels, weights.detach().clone()], skip=[2])

    def focal(x, y, gamma):
        rows = F.cross_entropy(x, y, reduction="none")
        return ((1 - (-rows).exp()) ** gamma * rows)[y != -100].mean()

    c.add("focal", lambda x, y: focal(x, y, 2), [spread(5, 3), labels])
    c.add("focal_half", lambda x, y: focal(x, y, 1.5), [spread(5, 3), labels])

    def binary_focal(x, y, alpha, gamma):
        loss = F.binary_cross_entropy_with_logits(x, y, reduction="none")
        p = x.sigmoid()
        loss = loss * (1 - (p * y + (1 - p) * (1 - y))) ** gamma
        return (loss * (alpha * y + (1 - alpha) * (1 - y)) if alpha >= 0 else loss).mean()

    hits = (c.normal(4, 3) > 0).double()
    c.add("binary_focal", lambda x, y: binary_focal(x, y, 0.25, 2), [spread(4, 3), hits],
          skip=[1])
    c.add("binary_focal_plain", lambda x, y: binary_focal(x, y, -1, 1.5),
          [spread(4, 3), hits.detach().clone()], skip=[1])
    same = torch.tensor([1, -1, 1, -1])
    c.add("cosine_similarity", lambda a, b: F.cosine_similarity(a, b, dim=-1), [spread(4, 5), spread(4, 5)])
    c.add("cosine_embedding", lambda a, b, s: F.cosine_embedding_loss(a, b, s, margin=-0.5),
          [spread(4, 5), spread(4, 5), same])
    c.add("triplet", F.triplet_margin_loss, [spread(4, 5), spread(4, 5), spread(4, 5)])

    def contrastive(a, b, same, margin):
        d = F.pairwise_distance(a, b)
        return torch.where(same > 0, d ** 2, (margin - d).clamp(min=0) ** 2).mean()

    c.add("contrastive", lambda a, b, s: contrastive(a, b, s, 4),
          [spread(4, 5), spread(4, 5), torch.tensor([1, 0, 1, 0])])
    c.save()


def dense_losses():
    """Of distributions over the classes, with weights of the classes."""
    c = Cases("losses_dense", 8)
    for name, shape in {"rows": (5, 3), "one": (1, 4), "more": (2, 3, 4)}.items():
        weights = (c.normal(shape[-1]).abs() + 0.5).bfloat16().double()
        target = c.normal(*shape).softmax(-1).bfloat16().double()
        for smoothing in [0.0, 0.2]:
            def loss(x, y, w, s=smoothing):
                return F.cross_entropy(x.flatten(0, -2), y.flatten(0, -2), weight=w.detach(), label_smoothing=s)

            c.add(f"{name}_{int(smoothing * 10)}", loss,
                  [c.normal(*shape, scale=2), target.detach().clone(), weights.detach().clone()], skip=[2])
    c.save()


STEPS = 6


class Lion:
    """Chen et al. 2023."""

    def __init__(self, parameters, lr, betas=(0.9, 0.99), weight_decay=0.0):
        self.all, self.lr, self.betas, self.decay = parameters, lr, betas, weight_decay
        self.m = [torch.zeros_like(p) for p in parameters]

    def step(self):
        b1, b2 = self.betas
        for p, m in zip(self.all, self.m):
            p.data = p.data * (1 - self.lr * self.decay) - self.lr * (b1 * m + (1 - b1) * p.grad).sign()
            m.mul_(b2).add_(p.grad, alpha=1 - b2)


class Lamb:
    """You et al. 2019, algorithm 2."""

    def __init__(self, parameters, lr, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.0):
        self.all, self.lr, self.betas, self.eps, self.decay = parameters, lr, betas, eps, weight_decay
        self.state = [(torch.zeros_like(p), torch.zeros_like(p)) for p in parameters]
        self.t = 0

    def step(self):
        self.t += 1
        b1, b2 = self.betas
        for p, (m, v) in zip(self.all, self.state):
            m.mul_(b1).add_(p.grad, alpha=1 - b1)
            v.mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
            r = (m / (1 - b1 ** self.t)) / ((v / (1 - b2 ** self.t)).sqrt() + self.eps)
            r = r + self.decay * p.data
            of_p, of_r = p.data.norm(), r.norm()
            ratio = of_p / of_r if of_p > 0 and of_r > 0 else 1.0
            p.data = p.data - self.lr * ratio * r


def optimizers():
    c = Cases("optimizers", 7)
    weight, bias = c.normal(3, 4), torch.zeros(3).double()
    gradients = [(c.normal(3, 4), c.normal(3)) for _ in range(STEPS)]
    c.put("weight", weight)
    c.put("bias", bias)
    for i, (w, b) in enumerate(gradients):
        c.put(f"gradient.{i}.weight", w)
        c.put(f"gradient.{i}.bias", b)
    kinds = {
        "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1, lr_decay=0.05, weight_decay=0.1),
        "adagrad_keras": lambda p: torch.optim.Adagrad(
            p, lr=0.1, initial_accumulator_value=0.1, eps=1e-7),
        "adadelta": lambda p: torch.optim.Adadelta(p, lr=0.5, weight_decay=0.1),
        "nadam": lambda p: torch.optim.NAdam(p, lr=0.01, weight_decay=0.1),
        "adafactor": lambda p: torch.optim.Adafactor(p, lr=0.05, weight_decay=0.1),
        "lion": lambda p: Lion(p, lr=0.01, weight_decay=0.1),
        "lamb": lambda p: Lamb(p, lr=0.02, weight_decay=0.1),
    }
    for name, make in kinds.items():
        values = [weight.clone().requires_grad_(), bias.clone().requires_grad_()]
        optimizer = make(values)
        for i, pair in enumerate(gradients):
            for p, g in zip(values, pair):
                p.grad = g.clone()
            optimizer.step()
            c.put(f"{name}.{i}.weight", values[0])
            c.put(f"{name}.{i}.bias", values[1])

    def rates(name, make, steps):
        p = torch.zeros(1, requires_grad=True)
        o = torch.optim.SGD([p], lr=0.5)
        s = make(o)
        all = []
        for _ in range(steps):
            all.append(o.param_groups[0]["lr"])
            o.step()
            s.step()
        c.put(f"rates.{name}", torch.tensor(all).double())

    s = torch.optim.lr_scheduler
    rates("warm_restarts", lambda o: s.CosineAnnealingWarmRestarts(o, 4, 2, 0.1), 30)
    rates("polynomial", lambda o: s.PolynomialLR(o, 10, 2.0), 14)
    rates("exponential", lambda o: s.ExponentialLR(o, 0.9), 10)
    rates("one_cycle", lambda o: s.OneCycleLR(o, 0.5, 20, cycle_momentum=False), 20)
    c.save()


losses()
dense_losses()
optimizers()
