"""What to write instead of names that NumPy, PyTorch and Keras have and this package has not."""

from __future__ import annotations

from typing import Any, Callable, NoReturn, Sequence

from ._traceback import worded

# By module: names of others, and what is said. Names that only differ in case need no entry.
_HINTS = {
    "plimsoll": {
        "cat concatenate": "pm.concat([a, b], axis=0)",
        "unsqueeze": "pm.expand_dims(x, axis), or x[:, None]",
        "view": "pm.reshape(x, shape)",
        "permute": "pm.transpose(x, order)",
        "chunk": "pm.split(x, sizes, axis)",
        "clamp": "pm.clip(x, low, high)",
        "var": "pm.variance(x, axis)",
        "std": "pm.sqrt(pm.variance(x, axis)), which divides by n as NumPy does",
        "rand": "pm.random_uniform(shape)",
        "randn": "pm.random_normal(shape)",
        "randint": "pm.random_uniform(shape, low, high).to(pm.i64), or pm.tensor(generator.integers(low, high, shape)) of NumPy",
        "multinomial random_categorical": "numpy.random.Generator.choice with pm.softmax(logits).numpy()",
        "manual_seed seed": "pm.set_seed(1)",
        "random": "pm.set_seed(1), pm.random_normal(shape) and pm.random_uniform(shape)",
        "no_grad inference_mode": "nothing: gradients are only recorded within pm.GradientTape(), and net.eval() turns "
        "dropout off",
        "from_torch": "pm.from_dlpack(t)",
        "as_tensor asarray array": "pm.tensor(data), which copies, or pm.from_numpy(array), which shares the memory",
        "float32 float": "pm.f32",
        "float64 double": "pm.f64",
        "float16 half": "pm.f16",
        "bfloat16": "pm.bf16",
        "int64 long": "pm.i64",
        "int32 int": "pm.i32",
        "uint8": "pm.u8",
        "bool": "pm.bool_",
        "mm bmm dot": "pm.matmul(a, b), or a @ b",
        "mod remainder fmod": "x % y, whose result has the sign of y",
        "floor_divide": "x // y",
        "isnan isfinite": "pm.is_finite(x), or x != x for NaN",
        "cuda": "pm.list_devices(), and pm.device(\"cuda:0\")",
        "save": "pm.save_safetensors(path, net.state_dict())",
        "load": "pm.load_safetensors(path)",
        "compile jit": "@pm.function",
        "Module": "pm.nn.Module",
        "Sequential": "pm.nn.Sequential",
        "keras layers": "pm.nn",
        "Dataset": "pm.data",
    },
    "plimsoll.nn": {
        "Linear": "pm.nn.Dense(out)",
        "Identity": "pm.nn.Lambda(lambda x: x)",
        "CrossEntropyLoss": "the function pm.nn.cross_entropy(logits, labels)",
        "NLLLoss": "the function pm.nn.cross_entropy(logits, labels)",
        "MSELoss mse_loss": "the function pm.nn.mean_squared_error(prediction, target)",
        "L1Loss l1_loss": "the function pm.nn.mean_absolute_error(prediction, target)",
        "BCELoss BCEWithLogitsLoss": "the function pm.nn.binary_cross_entropy(logits, targets)",
        "Softmax LogSoftmax": "the functions pm.softmax(x) and pm.log_softmax(x)",
        "functional": "functions of tensors in pm, such as pm.relu, and losses in pm.nn",
        "relu gelu silu tanh sigmoid softmax dropout": "the functions of tensors in pm, such as pm.relu(x)",
        "AdaptiveAvgPool2d": "pm.nn.GlobalAvgPool2D()",
        "RNN": "pm.nn.SimpleRNN(hidden)",
        "init": "pm.nn.Init, such as pm.nn.Init.normal(0.02)",
        "utils": "pm.clip_by_global_norm, or Trainer(..., clip_norm=1.0)",
        "Conv2DTranspose": "pm.nn.ConvTranspose2D(out, window)",
        "BatchNormalization": "pm.nn.BatchNorm2D()",
        "LayerNormalization": "pm.nn.LayerNorm()",
        "MaxPooling2D": "pm.nn.MaxPool2D(window)",
        "AveragePooling2D": "pm.nn.AvgPool2D(window)",
        "GlobalAveragePooling2D": "pm.nn.GlobalAvgPool2D()",
        "Input": "nothing: layers infer what comes in from their first call",
    },
    "plimsoll.optim": {"lr_scheduler schedulers": "pm.optim.Schedule, such as pm.optim.Schedule.cosine(0.1, 10_000)"},
    "plimsoll.data": {
        "DataLoader": "dataset.shuffle().batch(32).prefetch()",
        "TensorDataset": "pm.data.from_tensor_slices((x, y))",
        "random_split": "dataset.split(0.8)",
        "ImageFolder": "pm.data.image_folder(folder)",
        "AUTOTUNE": "nothing: map() and prefetch() without a number adjust themselves",
    },
}
_METHODS = {
    "unsqueeze expand_dims": "x[:, None], or pm.expand_dims(x, axis)",
    "squeeze": "pm.squeeze(x, axis)",
    "view": "x.reshape(...)",
    "permute": "x.transpose(...)",
    "T mT": "x.transpose(), or x.swapaxes(-2, -1) for the last two",
    "dim": "x.ndim",
    "numel": "x.size",
    "data": "x.assign(values), and x.numpy() to read a parameter",
    "std": "pm.sqrt(x.variance(axis)), which divides by n as NumPy does",
    "var": "x.variance(axis)",
    "astype type": "x.to(pm.f32)",
    "float": "x.to(pm.f32)",
    "long": "x.to(pm.i64)",
    "half": "x.to(pm.f16)",
    "detach": "pm.stop_gradient(x)",
    "cpu": "x.to(\"cpu\")",
    "cuda": "x.to(\"cuda:0\")",
    "copy": "x.clone()",
    "backward grad requires_grad": "pm.GradientTape: tape.gradient(loss, net)",
    "masked_fill": "pm.where(mask, value, x)",
    "expand": "pm.broadcast_to(x, shape)",
    "add_ sub_ mul_ div_ zero_ fill_": "x[:] = value, or a new tensor",
    "clamp": "pm.clip(x, low, high)",
    "assign": "a pm.Variable, which has it; `w += 1` makes a tensor: w.assign(w + 1)",
}


def _spread(entries: dict[str, str]) -> dict[str, str]:
    return {name: text for names, text in entries.items() for name in names.split()}


def names_in(module: str, public: Sequence[str]) -> tuple[Callable[[str], NoReturn], Callable[[], list[str]]]:
    """A module's __getattr__, the error for a name that it does not have, and its __dir__, which completion shows."""
    short = module.replace("plimsoll", "pm", 1)

    def missing(name: str) -> NoReturn:
        text = _spread(_HINTS[module]).get(name)
        if text is None and not name.startswith("_"):
            same = [each for each in public if each.lower() == name.lower()]
            text = f"{short}.{same[0]}" if same else None
        said = f"; use {text}" if text else ""
        raise AttributeError(f"module '{module}' has no attribute '{name}'{said}", name=name)

    return worded(missing), lambda: sorted(public)


def hint_methods(kind: type, ops: Any) -> None:
    """Gives a class the error for a method that it does not have: pm may have a function for it."""
    hints = _spread(_METHODS)

    def missing(self: Any, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        text = hints.get(name) or (f"pm.{name}(x)" if name in ops.__all__ else None)
        said = f"; use {text}" if text else ""
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'{said}", name=name, obj=self)

    setattr(kind, "__getattr__", worded(missing))


def hint_text(kind: type, ops: Any, strings: Any) -> None:
    """The same for components of elements, of which byte strings are used as if they were Python's."""
    hints = {"startswith": "starts_with", "endswith": "ends_with", "find": "contains"}

    def missing(self: Any, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        found = hints.get(name, name)
        module = "pm.strings" if found in strings.__all__ else "pm" if found in ops.__all__ else None
        said = f"; use {module}.{found}(x)" if module else ""
        raise AttributeError(
            f"'Symbolic' object has no attribute '{name}', as the function is traced{said}; "
            "map(f, python=True) calls it with Python's values", name=name, obj=self
        )

    setattr(kind, "__getattr__", worded(missing))


# What others call methods of modules, optimizers and datasets.
_OF_OTHERS = {
    "Module": {
        "cuda cpu to": "pm.Trainer(net, device=...), or net.materialize(device)",
        "zero_grad": "nothing: pm.GradientTape() begins without gradients",
        "requires_grad_": "net.freeze(), or net.freeze(False)",
        "unfreeze": "net.freeze(False)",
        "half bfloat16": 'pm.Trainer(net, precision="bf16")',
        "compile fit evaluate predict": 'pm.Trainer(net, loss="cross_entropy")',
        "summary": "print(net), and net.parameter_count",
        "num_parameters numel count_params": "net.parameter_count",
        "apply": "a loop over net.modules()",
        "weights trainable_weights variables trainable_variables": "net.parameters()",
        "save_weights": "pm.save_safetensors(path, net.state_dict())",
        "load_weights": "net.load_state_dict(pm.load_safetensors(path))",
        "register_buffer": "self.name = pm.nn.Parameter(shape, buffer=True)",
        "register_parameter": "self.name = pm.nn.Parameter(shape)",
        "add_module": "self.name = module",
    },
    "Optimizer": {
        "zero_grad": "nothing: pm.GradientTape() begins without gradients",
        "minimize apply_gradients": "optimizer.apply(tape.gradient(loss, net))",
        "state_dict load_state_dict": "pm.train.save_checkpoint(path, net, optimizer) and load_checkpoint",
        "param_groups learning_rate lr": "optimizer.rate, which its pm.optim.Schedule gives",
    },
    "Dataset": {
        "as_numpy_iterator": "dataset.to_numpy()",
        "apply": "f(dataset)",
        "reduce": "a loop over the dataset",
        "random_split": "dataset.split(0.8)",
        "padded": "dataset.padded_batch(size)",
        "shape dtype": "dataset.element_spec",
        "batch_size": "dataset.element_spec, whose first extents are those of the batch",
    },
    "Trainer": {
        "train": "trainer.fit(train, validation, epochs=3)",
        "compile": "the arguments of pm.Trainer",
        "test": "trainer.evaluate(dataset)",
        "module net network": "trainer.model",
        "history": "what fit() returns: history = trainer.fit(...)",
        "state_dict load_state_dict": "trainer.save(path) and trainer.load(path)",
    },
    "History": {"history metrics": 'history["loss"], or dict(history)'},
}


def hint_names(kind: type) -> None:
    """Gives a class the error for names that such classes have elsewhere."""
    hints = _spread(_OF_OTHERS[kind.__name__])

    def missing(self: Any, name: str) -> NoReturn:
        said = f"; use {hints[name]}" if name in hints else ""
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'{said}", name=name, obj=self)

    setattr(kind, "__getattr__", worded(missing))
