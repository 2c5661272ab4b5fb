"""How tensors, devices and histories look in a notebook, and tensors to CuPy."""

from __future__ import annotations

from typing import Any, Sequence

from . import _core


def _escaped(text: str) -> str:
    import html

    return html.escape(text)


def _table(rows: Sequence[Sequence[Any]], header: Sequence[str]) -> str:
    def line(cells: Sequence[Any], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{_escaped(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    return "<table>" + line(header, "th") + "".join(line(row, "td") for row in rows) + "</table>"


def _number(value: float) -> str:
    return f"{value:.4g}"


def tensor(self: _core.Tensor) -> str:
    """Small matrices as tables, all else as text."""
    kind = f"{self.dtype.name} {list(self.shape)} on {self.device.name}"
    if 1 <= len(self.shape) <= 2 and self.dtype != _core.DType.bytes and all(n <= 12 for n in self.shape):
        rows = self.tolist() if len(self.shape) == 2 else [self.tolist()]
        cells = [[_number(x) if isinstance(x, float) else x for x in row] for row in rows]
        body = "".join("<tr>" + "".join(f"<td>{x}</td>" for x in row) + "</tr>" for row in cells)
        return f"<div><code>{_escaped(kind)}</code><table>{body}</table></div>"
    return f"<pre>{_escaped(repr(self))}</pre>"


def device(self: _core.Device) -> str:
    """How full its budget is, and who holds what."""
    budget = self.budget
    used, limit = budget.used, budget.limit
    share = min(1.0, used / limit) if limit else 0.0
    most = "no limit" if limit is None else _core.format_bytes(limit)
    text = f"{self.name}: {_core.format_bytes(used)} of {most}"
    bar = (
        '<svg width="320" height="14" role="img"><rect width="320" height="14" fill="#bab0ac" opacity="0.4"/>'
        f'<rect width="{320 * share:.1f}" height="14" fill="#4e79a7"/></svg>'
    )
    rows = [(each.tag, each.label, _core.format_bytes(each.bytes)) for each in budget.holders()[:12]]
    table = _table(rows, ("tag", "label", "bytes")) if rows else ""
    return f"<div><code>{_escaped(text)}</code><br>{bar}{table}</div>"


def _curve(values: list[float], width: int = 480, height: int = 120) -> str:
    finite = [x for x in values if x == x and abs(x) != float("inf")]
    if len(finite) < 2:
        return ""
    step = max(1, len(finite) // width)
    shown = [sum(finite[i : i + step]) / len(finite[i : i + step]) for i in range(0, len(finite), step)]
    low, high = min(shown), max(shown)
    scale = (height - 20) / ((high - low) or 1)
    points = " ".join(
        f"{i * width / max(1, len(shown) - 1):.1f},{10 + (high - x) * scale:.1f}" for i, x in enumerate(shown)
    )
    return (
        f'<svg width="{width}" height="{height}" role="img" fill="none" stroke="#4e79a7">'
        f"<title>loss by step, from {_number(shown[0])} to {_number(shown[-1])}</title>"
        f'<polyline points="{points}"/></svg>'
    )


def history(self: _core.History) -> str:
    """The loss by step as a curve, and the metrics by epoch as a table."""
    text = (
        f"{self.steps} steps in {self.seconds:.2f} s; planned peak {_core.format_bytes(self.planned_peak)}, "
        f"measured {_core.format_bytes(self.measured_peak)}"
    )
    names = list(self.epochs[0]) if self.epochs else []
    rows = [
        (i + 1, *(_number(epoch[name]) if name in epoch else "" for name in names))
        for i, epoch in enumerate(self.epochs)
    ]
    table = _table(rows, ("epoch", *names)) if rows else ""
    return f"<div><p>{_escaped(text)}</p>{_curve(list(self.losses))}{table}</div>"


def _tree(self: _core.Module, indent: str = "") -> str:
    lines = [repr(self)]
    for name, child in self.named_children():
        lines.append(f"{indent}  {name}: {_tree(child, indent + '  ')}")
    return "\n".join(lines)


def module(self: _core.Module) -> str:
    """A line for each module within it."""
    return f"<pre>{_escaped(_tree(self))}</pre>"


for _kind, _shown in ((_core.Tensor, tensor), (_core.Device, device), (_core.History, history), (_core.Module, module)):
    setattr(_kind, "_repr_html_", _shown)
setattr(_core.Module, "__str__", _tree)


def _cuda_array_interface(self: _core.Tensor) -> dict[str, Any]:
    found = _core._cuda_array_interface(self)
    if found is None:
        raise AttributeError(f"__cuda_array_interface__: this tensor is on {self.device.name}")
    return found


setattr(_core.Tensor, "__cuda_array_interface__", property(_cuda_array_interface))
