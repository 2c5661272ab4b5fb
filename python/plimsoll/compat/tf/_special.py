"""Functions that are composed: inverse and hyperbolic ones, gamma and error functions."""

from __future__ import annotations

import builtins
from typing import Any

import plimsoll as pm

from ._dispatch import op
from ._operators import pair, unary


def _expm1(x: Any) -> Any:
    small = pm.abs(x) < 1
    half = pm.tanh(pm.where(small, x, 0) * 0.5)
    return pm.where(small, 2 * half / (1 - half), pm.exp(x) - 1)


def _sinh(x: Any) -> Any:
    small = pm.abs(x) < 1
    grown = _expm1(pm.where(small, x, 0))
    return pm.where(small, (grown + grown / (grown + 1)) * 0.5, (pm.exp(x) - pm.exp(-x)) * 0.5)


def _asinh(x: Any) -> Any:
    size = pm.abs(x)
    return pm.sign(x) * pm.log1p(size + size * size / (1 + pm.sqrt(size * size + 1)))


def _acosh(x: Any) -> Any:
    return pm.log1p((x - 1) + pm.sqrt((x - 1) * (x + 1)))


def _atan(x: Any) -> Any:
    """By Cephes's reduction to [0, 0.66]; every branch is finite, so that its gradient is, too."""
    size = pm.abs(x)
    large, middle = size > 2.414213562373095, size > 0.66
    inner = pm.where(large, -1 / pm.where(large, size, 1), pm.where(middle, (size - 1) / (size + 1), size))
    z = inner * inner
    top = ((((-0.8750608600031904 * z - 16.157537187333652) * z - 75.00855792314705) * z
            - 122.88666844901361) * z - 64.85021904942025) * z
    bottom = ((((z + 24.858464901423062) * z + 165.02700983169885) * z + 432.88106049129027) * z
              + 485.3903996359137) * z + 194.5506571482614
    near = inner + inner * (top / bottom)
    base = pm.where(large, 1.5707963267948966, pm.where(middle, 0.7853981633974483, pm.zeros_like(x)))
    turned = base + near
    return pm.where(x < 0, -turned, turned)


def _asin(x: Any) -> Any:
    return 2 * _atan(x / (1 + pm.sqrt((1 - x) * (1 + x))))


def _acos(x: Any) -> Any:
    return 2 * _atan(pm.sqrt((1 - x) / (1 + x)))


expm1 = unary("math.expm1", _expm1)
sinh = unary("sinh", _sinh)
cosh = unary("cosh", lambda x: (pm.exp(x) + pm.exp(-x)) * 0.5)
asinh = unary("asinh", _asinh)
acosh = unary("acosh", _acosh)
atanh = unary("atanh", lambda x: (pm.log1p(x) - pm.log1p(-x)) * 0.5)
atan = unary("atan", _atan)
asin = unary("asin", _asin)
acos = unary("acos", _acos)


@op(name="atan2")
def atan2(y: Any, x: Any) -> Any:
    a, b = pair(y, x, "Atan2", numbers=False)
    pi = 3.141592653589793
    both = pm.logical_and(a == 0, b == 0)
    steep = pm.abs(a) > pm.abs(b)
    safe_b, safe_a = pm.where(pm.logical_or(steep, both), 1, b), pm.where(steep, a, 1)
    flat = _atan(pm.where(pm.logical_or(steep, both), 0, a) / safe_b)
    tall = _atan(pm.where(steep, b, 0) / safe_a)
    turned = pm.where(a < 0, -pi / 2 - tall, pi / 2 - tall)
    behind = pm.where(b < 0, pm.where(a < 0, flat - pi, flat + pi), flat)
    return pm.where(steep, turned, behind)


_LANCZOS = (
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
    -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
    1.5056327351493116e-7,
)


def _lgamma_above(x: Any) -> Any:
    """Of x >= 0.5, in f64."""
    z = x - 1
    total = z * 0 + _LANCZOS[0]
    for i, each in enumerate(_LANCZOS[1:], 1):
        total = total + each / (z + i)
    t = z + 7.5
    return 0.9189385332046727 + (z + 0.5) * pm.log(t) - t + pm.log(total)


def _lgamma(x: Any) -> Any:
    wide = pm.cast(x, pm.f64)
    low = wide < 0.5
    above = _lgamma_above(pm.where(low, 1 - wide, wide))
    reflected = 1.1447298858494002 - pm.log(pm.abs(pm.sin(wide * 3.141592653589793))) - above
    return pm.cast(pm.where(low, reflected, above), x.dtype)


def _digamma(x: Any) -> Any:
    wide = pm.cast(x, pm.f64)
    low = wide < 0.5
    z = pm.where(low, 1 - wide, wide)
    total = z * 0
    for i in builtins.range(8):
        total = total - 1 / (z + i)
    z = z + 8
    inverse = 1 / (z * z)
    series = inverse * (1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse * (
        1 / 240 - inverse * (1 / 132)))))
    value = total + pm.log(z) - 0.5 / z - series
    turned = wide * 3.141592653589793
    reflected = value - 3.141592653589793 * pm.cos(turned) / pm.where(low, pm.sin(turned), 1)
    return pm.cast(pm.where(low, reflected, value), x.dtype)


lgamma = unary("math.lgamma", _lgamma, pm.i32, pm.i64, pm.u8, pm.bool_)
digamma = unary("math.digamma", _digamma, pm.i32, pm.i64, pm.u8, pm.bool_)


def _erfinv(x: Any) -> Any:
    """By Giles's polynomials, then two steps of Newton's in f64."""
    wide = pm.cast(x, pm.f64)
    w = -pm.log((1 - wide) * (1 + wide))
    near, far = w - 2.5, pm.sqrt(pm.maximum(w, 5.0)) - 3
    a = wide * 0 + 2.81022636e-08
    for c in (3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
              -0.00417768164, 0.246640727, 1.50140941):
        a = a * near + c
    b = wide * 0 - 0.000200214257
    for c in (0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
              0.00943887047, 1.00167406, 2.83297682):
        b = b * far + c
    y = pm.where(w < 5, a, b) * wide
    inside = pm.abs(wide) < 1
    for _ in builtins.range(2):
        step = (pm.erf(y) - wide) / (1.1283791670955126 * pm.exp(-(y * y)))
        y = pm.where(inside, y - pm.where(inside, step, 0), y)
    ends = pm.where(pm.abs(wide) == 1, wide / pm.where(pm.abs(wide) == 1, 0.0, wide * 0 + 1), y)
    return pm.cast(pm.where(inside, y, ends), x.dtype)


erfinv = unary("math.erfinv", _erfinv)
ndtri = unary("math.ndtri", lambda x: 1.4142135623730951 * _erfinv(2 * x - 1))
