"""Model.summary(): Keras's table."""

from __future__ import annotations

from typing import Any

from ..layers._layer import Layer


def _count(weights: Any) -> int:
    total = 0
    for each in weights:
        size = 1
        for n in each.shape:
            size *= int(n)
        total += size
    return total


def _bytes(weights: Any) -> float:
    return float(sum(_count([each]) * each.dtype.size for each in weights))


def _readable(size: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1024 or unit == "GB":
            return f"{size:.2f} {unit}"
        size /= 1024
    return ""


def _shape(layer: Any) -> str:
    try:
        output = layer.output if not hasattr(layer, "_row") else layer._graph.outputs
    except AttributeError:
        return "?"
    if isinstance(output, (list, tuple)):
        return ", ".join(_tuple(each) for each in output)
    if isinstance(output, dict):
        return ", ".join(_tuple(each) for each in output.values())
    return _tuple(output)


def _tuple(tensor: Any) -> str:
    dims = [str(n) for n in tensor.shape]
    return f"({', '.join(dims)}{',' if len(dims) == 1 else ''})"


def summarize(
    model: Any, line_length: int | None, print_fn: Any, expand_nested: bool, show_trainable: bool
) -> None:
    """A box with a row for each layer, then the totals."""
    rows: list[list[str]] = []
    branched = model._graph is not None and not hasattr(model, "_row") and _branched(model._graph)

    def add(layers: Any, depth: int) -> None:
        for each in layers:
            title = f"{'    ' * depth}{each.name} ({type(each).__name__})"
            weights = each.weights
            count = f"{_count(weights):,}" if each.built or weights else "0 (unbuilt)"
            row = [title, _shape(each), count]
            if show_trainable:
                row.append("Y" if each.trainable else "N")
            if branched:
                row.append(_connected(each, model))
            rows.append(row)
            inner = getattr(each, "layers", None)
            if expand_nested and inner and isinstance(each, Layer):
                add(inner, depth + 1)

    add(model.layers, 0)
    heads = ["Layer (type)", "Output Shape", "Param #"] + (["Trainable"] if show_trainable else [])
    if branched:
        heads.append("Connected to")
    widths = [max([len(head), *(len(row[i]) for row in rows)]) for i, head in enumerate(heads)]
    if line_length is None:
        widths[0] = max(widths[0], 31)
        widths[1] = max(widths[1], 22)
        widths[2] = max(widths[2], 13)

    def line(left: str, fill: str, middle: str, right: str) -> str:
        return left + middle.join(fill * (w + 2) for w in widths) + right

    def cells(values: list[str], bar: str) -> str:
        shown = [v.rjust(w) if i == 2 else v.ljust(w) for i, (v, w) in enumerate(zip(values, widths))]
        return f"{bar} " + f" {bar} ".join(shown) + f" {bar}"

    lines = [f'Model: "{model.name}"', line("┏", "━", "┳", "┓"), cells(heads, "┃"), line("┡", "━", "╇", "┩")]
    for i, row in enumerate(rows):
        lines.append(cells(row, "│"))
        lines.append(line("└", "─", "┴", "┘") if i == len(rows) - 1 else line("├", "─", "┼", "┤"))
    trained, frozen = model.trainable_weights, model.non_trainable_weights
    kept = [] if getattr(model, "optimizer", None) is None or not model.optimizer.built else (
        model.optimizer.variables)
    total = [*trained, *frozen, *kept]
    lines.append(f" Total params: {_count(total):,} ({_readable(_bytes(total))})")
    lines.append(f" Trainable params: {_count(trained):,} ({_readable(_bytes(trained))})")
    lines.append(f" Non-trainable params: {_count(frozen):,} ({_readable(_bytes(frozen))})")
    if kept:
        lines.append(f" Optimizer params: {_count(kept):,} ({_readable(_bytes(kept))})")
    text = "\n".join(lines)
    if print_fn is None:
        print(text)
    else:
        for each in text.split("\n"):
            print_fn(each)


def _branched(graph: Any) -> bool:
    """Whether layers are anything but one after the other."""
    read: set[int] = set()
    for node in graph.nodes:
        if len(node.inputs) > 1 or any(id(each) in read for each in node.inputs):
            return True
        read |= {id(each) for each in node.inputs}
    return len(graph.flat_inputs) > 1 or len(graph.flat_outputs) > 1


def _connected(layer: Any, model: Any) -> str:
    for node in model._graph.nodes:
        if getattr(node, "layer", None) is layer:
            names = [getattr(each, "layer", None) for each in node.inputs]
            return ", ".join(f"{each.name}[0][0]" for each in names if each is not None) or "-"
    return "-"
