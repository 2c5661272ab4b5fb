"""tf.Variable: a tensor that persists and changes. Of a v1 graph its values belong to sessions."""

from __future__ import annotations

import enum
import math
from typing import Any

import numpy as np

import plimsoll as pm
from plimsoll import _core

from . import _dtypes
from ._convert import convert_to_tensor, tensor
from ._dispatch import op
from ._dtypes import DType, as_dtype
from ._errors import InvalidArgumentError, refuse, unsupported
from ._mixin import Operators
from ._shape import TensorShape
from ._state import recording, state
from ._tensor import Reference, Tensor, copied, to_numpy


class VariableSynchronization(enum.Enum):
    AUTO, NONE, ON_WRITE, ON_READ = range(4)


class VariableAggregation(enum.Enum):
    NONE, SUM, MEAN, ONLY_FIRST_REPLICA = range(4)


watchers: list[Any] = []  # tapes that want to know which variables are read
made: list[Any] = []  # checkpoints with values for variables that layers and optimizers have yet to make
lookups: list[Any] = []  # tapes that want to know what embeddings look up: the table, ids, rows


def announce() -> None:
    """Says that a layer or an optimizer has made its variables: checkpoints restore those they wait for."""
    if made:
        with _core._Eager():
            for each in list(made):
                each()


scopes: list[str] = []  # names of the tf.name_scopes that are open outside of graphs


def looked_up(table: Any, ids: Any, rows: Any) -> Any:
    """Tells tapes of rows that a function has taken from a variable; gives them."""
    if lookups and isinstance(table, Variable) and len(table.shape) == 2 and isinstance(rows, Tensor):
        at = tensor(ids._value if isinstance(ids, Tensor) else ids)
        if isinstance(at, pm.Tensor) and isinstance(rows._value, pm.Tensor):
            for each in lookups:
                each(table, at if at.dtype in (pm.i32, pm.i64) else pm.cast(at, pm.i32), rows._value, True)
    return rows


_names: dict[str, int] = {}


class _Part(Tensor):
    """A slice of a variable: a tensor to which one can assign."""

    __slots__ = ("_whole", "_key")

    def __init__(self, value: Any, whole: Variable, key: Any) -> None:
        super().__init__(value)
        self._whole, self._key = whole, key

    def assign(self, value: Any, name: str | None = None, read_value: bool = True) -> Variable:
        return self._whole._assign_part(self._key, value)


class Variable(Operators):
    """A tensor that persists and changes.

    >>> w = tf.Variable(tf.zeros([3, 1]), name="w")
    >>> w.assign_add(tf.ones([3, 1]))
    """

    _variable: pm.Variable | None
    _node: Any

    def __init__(
        self, initial_value: Any = None, trainable: bool | None = None, validate_shape: bool = True,
        caching_device: Any = None, name: str | None = None, variable_def: Any = None, dtype: Any = None,
        import_scope: Any = None, constraint: Any = None,
        synchronization: Any = VariableSynchronization.AUTO, aggregation: Any = VariableAggregation.NONE,
        shape: Any = None, experimental_enable_variable_lifting: bool = True, **v1: Any,
    ) -> None:
        refuse("tf.Variable", caching_device=caching_device, variable_def=variable_def, import_scope=import_scope)
        collections = v1.pop("collections", None)
        v1.pop("use_resource", None)
        v1.pop("expected_shape", None)
        if v1:
            unsupported("tf.Variable", ", ".join(v1))
        if initial_value is None:
            raise ValueError("The `initial_value` arg to `tf.Variable` must be specified except when you are not providing a `variable_def`. You provided neither.")
        self._trainable = True if trainable is None else bool(trainable)
        self.constraint = constraint
        self.synchronization, self.aggregation = synchronization, aggregation
        self._static = None if shape is None else TensorShape(shape)
        self._variable, self._node = None, None
        graph = recording()
        if graph is not None:
            from ._graph import declare_variable

            declare_variable(self, graph, initial_value, dtype, name or "Variable", collections)
            return
        self._name = "/".join((*(scopes if type(self) is Variable else ()), name or "Variable"))
        with _core._Eager():
            before, state.inside = state.inside, False
            try:
                value = initial_value() if callable(initial_value) else initial_value
                fresh = not isinstance(value, Tensor) and not hasattr(value, "_as_tensor")
                made = convert_to_tensor(value, dtype)
            finally:
                state.inside = before
            if not made.is_concrete:
                raise ValueError(
                    "the initial value of a tf.Variable must be known: it is computed from what is being "
                    "traced; create variables before, or with tf.zeros, tf.random and numbers"
                )
            self._strings = made._value if isinstance(made._value, np.ndarray) else None
            if self._strings is None:
                data = made._value if fresh else made._value.clone()
                self._variable = pm.Variable(data, name=self._name, trainable=self._trainable)

    @classmethod
    def _of(cls, variable: pm.Variable, name: str) -> Variable:
        """A tf.Variable for one of the library's."""
        made = cls.__new__(cls)
        made._trainable, made.constraint, made._static = variable.trainable, None, None
        made.synchronization, made.aggregation = VariableSynchronization.AUTO, VariableAggregation.NONE
        made._variable, made._node, made._name, made._strings = variable, None, name, None
        return made

    # -- what it is ------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return f"{self._name}:0"

    @property
    def path(self) -> str:
        """What files of weights call it."""
        return self._name

    @property
    def dtype(self) -> DType:
        if self._node is not None:
            return self._node.dtype  # type: ignore[no-any-return]
        if self._variable is None:
            return as_dtype(self._strings.dtype) if self._strings is not None else _dtypes.float32
        return _dtypes.BY_PM[self._variable.dtype]

    @property
    def shape(self) -> TensorShape:
        if self._node is not None:
            return TensorShape(self._node.shape)
        if self._variable is None:
            return TensorShape(self._strings.shape if self._strings is not None else None)
        return TensorShape(self._variable.shape)

    def get_shape(self) -> TensorShape:
        return self.shape

    @property
    def trainable(self) -> bool:
        return self._trainable

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def device(self) -> str:
        from ._config import device_string

        return device_string(self._variable)

    @property
    def handle(self) -> Any:
        return self

    @property
    def op(self) -> Any:
        return self._need_node("op")

    @property
    def graph(self) -> Any:
        return self._need_node("graph").graph

    @property
    def initializer(self) -> Any:
        return self._need_node("initializer").initializer

    @property
    def initial_value(self) -> Any:
        return self._need_node("initial_value").initial

    def initialized_value(self) -> Any:
        return self._need_node("initialized_value").initial

    def _need_node(self, what: str) -> Any:
        if self._node is None:
            raise AttributeError(f"Variable.{what} is undefined when eager execution is enabled.")
        return self._node

    def _graph_tensor(self) -> Tensor | None:
        """Its value in a v1 graph, symbolic; None for an eager one."""
        return None if self._node is None else self._node.outputs[0]

    # -- values ----------------------------------------------------------------------------------

    def _as_tensor(self) -> Tensor:
        """Its tensor, which shares its memory: for reading at once."""
        if self._node is not None:
            return self._node.outputs[0]  # type: ignore[no-any-return]
        if self._variable is None:
            return Tensor(self._strings)
        for each in watchers:
            each(self)
        return Tensor(self._variable.value)

    def value(self) -> Tensor:
        return self.read_value()

    def read_value(self) -> Tensor:
        """A copy of its value now; in a graph, after the ops of tf.control_dependencies."""
        if self._node is not None and not state.replaying:
            from ._graph import ReadNode

            return ReadNode(self._node).outputs[0]  # type: ignore[no-any-return]
        return _copied(self)  # type: ignore[no-any-return]

    def numpy(self) -> Any:
        """A copy of its values as a NumPy array."""
        if self._node is not None:
            raise NotImplementedError("numpy() is only available when eager execution is enabled.")
        found: Any = self._strings if self._variable is None else to_numpy(self._variable.value)
        return found[()] if found.ndim == 0 else found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        found = np.asarray(self.numpy())
        return found if dtype is None else found.astype(dtype)

    def eval(self, session: Any = None) -> Any:
        from ._session import session_for

        return session_for(session, "eval").run(self)

    def __bool__(self) -> bool:
        return bool(self._as_tensor())

    def __int__(self) -> int:
        return int(self._as_tensor())

    def __float__(self) -> float:
        return float(self._as_tensor())

    def __index__(self) -> int:
        return self._as_tensor().__index__()

    def __len__(self) -> int:
        return len(self._as_tensor())

    def __iter__(self) -> Any:
        return iter(self.read_value())

    def __getitem__(self, key: Any) -> Any:
        from ._indexing import getitem

        found = getitem(self, key)
        if isinstance(found, Tensor) and self._node is None and self._variable is not None:
            return _Part(found._value, self, key)
        return found

    def _assign_part(self, key: Any, value: Any) -> Variable:
        """v[key].assign(value), for a key that is known."""
        from ._arrays import broadcast_to, reshape
        from ._gather import tensor_scatter_nd_update

        shape = tuple(int(each or 0) for each in self.shape.as_list())  # a variable's extents are known
        places = np.arange(math.prod(shape)).reshape(shape)[key]
        given = reshape(broadcast_to(convert_to_tensor(value, self.dtype), places.shape), [-1])
        flat = tensor_scatter_nd_update(reshape(self, [-1]), places.reshape(-1, 1).astype(np.int32), given)
        self.assign(reshape(flat, self.shape.as_list()))
        return self

    __eq__ = Operators.__eq__

    def __hash__(self) -> int:
        if self._node is not None:
            return id(self)
        raise TypeError("Variable is unhashable. Instead, use variable.ref() as the key.")

    def ref(self) -> Reference:
        return Reference(self)

    def __format__(self, spec: str) -> str:
        return format(self._as_tensor(), spec) if self._node is None else str(self)

    def __repr__(self) -> str:
        if self._node is not None:
            return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"
        shown = repr(self.numpy()) if self.shape.rank else str(self.numpy())
        shown = f"\n{shown}" if "\n" in shown else shown
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}, numpy={shown}>"

    __str__ = __repr__

    def __deepcopy__(self, memo: Any) -> Variable:
        return Variable(self.numpy(), trainable=self._trainable, name=self._name, dtype=self.dtype)

    # -- changes ---------------------------------------------------------------------------------

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Writes a value of its shape and dtype."""
        return self._write("assign", value)

    def assign_add(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        return self._write("assign_add", delta)

    def assign_sub(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        return self._write("assign_sub", delta)

    def _write(self, how: str, value: Any) -> Any:
        if self._node is not None and not state.replaying:
            from ._graph import assign

            return assign(self, how, value)
        if self._variable is None:
            if self._strings is not None and how == "assign":
                self._strings = np.asarray(convert_to_tensor(value, self.dtype)._value)
                return self
            raise RuntimeError("this variable belongs to a graph; run it in a session")
        write(self._variable, how, value, self.name)
        return self

    def _indexed(self, how: str, slices: Any) -> Any:
        from . import _gather

        rows = convert_to_tensor(slices.indices)
        at = _column(rows)
        values = slices.values
        if how == "update":
            return self.assign(_gather.tensor_scatter_nd_update(self, at, values))
        if how == "add":
            return self.assign(_gather.tensor_scatter_nd_add(self, at, values))
        return self.assign(_gather.tensor_scatter_nd_sub(self, at, values))

    def scatter_update(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        return self._indexed("update", sparse_delta)

    def scatter_add(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        return self._indexed("add", sparse_delta)

    def scatter_sub(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        return self._indexed("sub", sparse_delta)

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        from ._gather import tensor_scatter_nd_update

        return self.assign(tensor_scatter_nd_update(self, indices, updates))

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        from ._gather import tensor_scatter_nd_add

        return self.assign(tensor_scatter_nd_add(self, indices, updates))

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        from ._gather import tensor_scatter_nd_sub

        return self.assign(tensor_scatter_nd_sub(self, indices, updates))

    def load(self, value: Any, session: Any = None) -> None:
        from ._session import session_for

        session_for(session, "load").load_variable(self, value)

    def is_initialized(self, name: str | None = None) -> Any:
        return convert_to_tensor(True)

    def set_shape(self, shape: Any) -> None:
        self.shape.assert_is_compatible_with(shape)


@op(name="Variable.read_value")
def _copied(x: Any) -> Any:
    """A value that does not change with the variable it came from."""
    value = tensor(x)
    if isinstance(value, np.ndarray):
        return value.copy()
    return copied(value) if isinstance(value, pm.Tensor) else value


@op(name="Variable.scatter_update")
def _column(x: Any) -> Any:
    return pm.reshape(x, [*x.shape, 1])


def write(variable: pm.Variable, how: str, value: Any, name: str) -> None:
    """Writes into one of the library's variables, now or in the trace."""
    if state.pure:
        raise NotImplementedError(
            "assigning a variable in a branch of tf.cond whose condition is not known is not supported by "
            "plimsoll.compat.tf: assign tf.where(condition, new, variable) instead"
        )
    before, state.inside = state.inside, True
    try:
        from ._dispatch import _Found, raw

        given = tensor(raw(value, _Found()), _dtypes.BY_PM[variable.dtype])
        if how != "assign":
            _check(variable, given, name, exact=False)
            given = variable.value + given if how == "assign_add" else variable.value - given
        _check(variable, given, name, exact=True)
        if given.size and isinstance(given, pm.Tensor) and not given.is_symbolic and given.device != variable.device:
            given = given.to(variable.device)
        _put(variable, given)
    except pm.InvalidArgument as error:
        raise InvalidArgumentError(None, None, str(error)) from None
    finally:
        state.inside = before


def _put(variable: pm.Variable, given: Any) -> None:
    try:
        variable.assign(given)
    except pm.InvalidArgument as error:
        if "tape still needs the old value" not in str(error) or given.is_symbolic:
            raise
        _core._replace(variable, given)  # a persistent tape keeps what it recorded


def _check(variable: pm.Variable, given: Any, name: str, exact: bool) -> None:
    if tuple(given.shape) != tuple(variable.shape) and (exact or len(given.shape)):
        raise ValueError(
            f"Cannot assign value to variable '{name}': Shape mismatch. The variable shape "
            f"{tuple(variable.shape)}, and the assigned value shape {tuple(given.shape)} are incompatible."
        )
