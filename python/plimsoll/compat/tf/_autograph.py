"""AutoGraph's simple case: an `if` whose condition is a tensor without a value, in a function that is traced.

The function is rewritten when that happens, and traced again: both branches become functions of the names
that they assign, and tf.where takes the results of one. Where the condition has a value only that branch
runs, as before. Loops, `break`, and branches that assign variables or different things are left alone: such
functions run op by op, with a warning that names the line.
"""

from __future__ import annotations

import ast
import gc
import inspect
import os
import textwrap
import types
from typing import Any, Callable, TypeVar

from . import _nest
from ._state import state
from ._tensor import Tensor, Undecided

T = TypeVar("T")
_MOST = 32  # functions rewritten for one trace
_HELPER = "plimsoll_autograph_helper"
_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_done: set[Any] = set()


def retraced(run: Callable[[], T]) -> T:
    """`run()`, which traces something from its beginning; again after a function whose `if` asked for a value
    that is not known was rewritten."""
    for _ in range(_MOST):
        try:
            return run()
        except Undecided as error:
            if not rewrite(error):
                raise
    return run()


def rewrite(error: BaseException | None) -> bool:
    """Rewrites the user's function that raised Undecided. False where it cannot be."""
    trace = error.__traceback__ if isinstance(error, Undecided) else None
    code: types.CodeType | None = None
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            code = trace.tb_frame.f_code
        trace = trace.tb_next
    if code is None or code in _done:
        return False
    owners = [each for each in gc.get_referrers(code) if isinstance(each, types.FunctionType)]
    if not owners:
        return False
    made = _rewritten(owners[0], code)
    if made is None:
        return False
    _done.add(made)
    for each in owners:
        each.__globals__[_HELPER] = _Helper
        each.__code__ = made
    return True


def _rewritten(function: types.FunctionType, code: types.CodeType) -> types.CodeType | None:
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError, IndentationError):
        return None
    definition = tree.body[0]
    if len(tree.body) != 1 or not isinstance(definition, ast.FunctionDef) or _has_private_names(tree):
        return None
    changed = _Branches()
    definition.body = changed.block(definition.body)
    if not changed.count:
        return None
    definition.decorator_list = []
    names = "".join(f"    {each} = None\n" for each in code.co_freevars)
    outer = ast.parse(f"def outer():\n{names}    pass\n")
    assert isinstance(outer.body[0], ast.FunctionDef)
    ast.fix_missing_locations(definition)
    ast.increment_lineno(definition, first - 1)
    outer.body[0].body.append(definition)
    ast.fix_missing_locations(outer)
    module = compile(outer, code.co_filename, "exec", dont_inherit=True)
    enclosing = next(each for each in module.co_consts if isinstance(each, types.CodeType))
    made = next((each for each in enclosing.co_consts if isinstance(each, types.CodeType)
                 and each.co_name == code.co_name), None)
    return made if made is not None and made.co_freevars == code.co_freevars else None


def _has_private_names(tree: ast.AST) -> bool:
    """Names that a class would change (__x)."""
    for each in ast.walk(tree):
        name = each.attr if isinstance(each, ast.Attribute) else each.id if isinstance(each, ast.Name) else ""
        if name.startswith("__") and not name.endswith("__"):
            return True
    return False


class _Branches:
    """Rewrites the `if` statements of a function's body."""

    def __init__(self) -> None:
        self.count = 0

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for i, each in enumerate(body):
            if isinstance(each, ast.If) and _returns(each.body):
                rest = each.orelse if _returns(each.orelse) else each.orelse + body[i + 1:]
                if _returns(rest):
                    return made + self._returning(each, rest)
            made += self._statement(each)
        return made

    def _statement(self, each: ast.stmt) -> list[ast.stmt]:
        if isinstance(each, ast.If):
            if _leaves(each):
                return [each]
            return self._assigning(each)
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(each, name, None)
            if inner and not isinstance(each, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
                setattr(each, name, [x for one in inner for x in self._statement(one)])
        return [_Expressions(self).visit(each)] if isinstance(each, (ast.Assign, ast.Return, ast.Expr, ast.AugAssign)) else [each]

    def _returning(self, each: ast.If, rest: list[ast.stmt]) -> list[ast.stmt]:
        """Both ways end in a `return`."""
        self.count += 1
        names = sorted(_assigned(each.body) | _assigned(rest))
        parts = [ast.copy_location(_function(f"plimsoll_branch_{way}_{self.count}", names, self.block(body)), each)
                 for way, body in (("true", each.body), ("false", rest))]
        call = ast.Return(_call("returned", [_test(each.test), *(_name(p.name) for p in parts), *_state(names)]))
        return [*parts, ast.copy_location(call, each)]

    def _assigning(self, each: ast.If) -> list[ast.stmt]:
        self.count += 1
        names = sorted(_assigned(each.body) | _assigned(each.orelse))
        ends: list[ast.stmt] = [ast.Return(ast.Tuple([_name(n) for n in names], ast.Load()))]
        number = self.count
        parts = [ast.copy_location(_function(f"plimsoll_branch_{way}_{number}", names, self.block(body) + ends), each)
                 for way, body in (("true", each.body), ("false", each.orelse))]
        value = _call("branch", [_test(each.test), *(_name(p.name) for p in parts), *_state(names)])
        if not names:
            return [*parts, ast.copy_location(ast.Expr(value), each)]
        target = ast.Tuple([ast.Name(n, ast.Store()) for n in names], ast.Store())
        return [*parts, ast.copy_location(ast.Assign([target], value), each)]


class _Expressions(ast.NodeTransformer):
    """a if tensor else b"""

    def __init__(self, counter: _Branches) -> None:
        self._counter = counter

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        self.generic_visit(node)
        self._counter.count += 1
        return ast.copy_location(_call("chosen", [_test(node.test), _lambda(node.body), _lambda(node.orelse)]), node)

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return node


def _test(node: ast.expr) -> ast.expr:
    """A condition, whose `and`, `or` and `not` may be of tensors."""
    if isinstance(node, ast.BoolOp):
        how = "both" if isinstance(node.op, ast.And) else "either"
        return ast.copy_location(_call(how, [_lambda(_test(each)) for each in node.values]), node)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ast.copy_location(_call("negated", [_test(node.operand)]), node)
    return node


def _call(name: str, args: list[ast.expr]) -> ast.Call:
    return ast.Call(ast.Attribute(_name(_HELPER), name, ast.Load()), args, [])


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _lambda(body: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), body)


def _function(name: str, parameters: list[str], body: list[ast.stmt]) -> ast.FunctionDef:
    arguments = ast.arguments([], [ast.arg(each) for each in parameters], None, [], [], None, [])
    made = ast.FunctionDef(name, arguments, body or [ast.Pass()], [])
    made.type_params = []  # type: ignore[attr-defined, unused-ignore]
    return made


def _state(names: list[str]) -> list[ast.expr]:
    """The names' values before, as functions that may fail, and the names."""
    values = ast.Tuple([_call("value", [_lambda(_name(each))]) for each in names], ast.Load())
    return [values, ast.Tuple([ast.Constant(each) for each in names], ast.Load())]


def _assigned(body: list[ast.stmt]) -> set[str]:
    found: set[str] = set()
    for statement in body:
        for each in ast.walk(statement):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                found.add(each.id)
            elif isinstance(each, (ast.FunctionDef, ast.ClassDef)):
                found.add(each.name)
    return found


def _returns(body: list[ast.stmt]) -> bool:
    """Whether a block ends in a `return`, and leaves the function nowhere else but so."""
    if not body or not isinstance(body[-1], (ast.Return, ast.If)):
        return False
    if any(_leaves(each) for each in body[:-1] if not isinstance(each, ast.If)):
        return False
    last = body[-1]
    if isinstance(last, ast.If):
        return bool(last.orelse) and _returns(last.body) and _returns(last.orelse)
    return True


def _leaves(node: ast.AST) -> bool:
    """Whether something jumps, or binds names in another way than by assigning them."""
    kinds = (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal,
             ast.Delete, ast.Raise, ast.Import, ast.ImportFrom, ast.Try)
    return any(isinstance(each, kinds) for each in ast.walk(node))


class _Undefined:
    def __repr__(self) -> str:
        return "<a name without a value>"


_UNDEFINED = _Undefined()


class _Helper:
    """What rewritten functions call."""

    @staticmethod
    def value(read: Callable[[], Any]) -> Any:
        try:
            return read()
        except NameError:
            return _UNDEFINED

    @staticmethod
    def branch(test: Any, true: Any, false: Any, before: tuple[Any, ...], names: tuple[str, ...]) -> Any:
        if not _unknown(test):
            return (true if test else false)(*before)
        a, b = _both(lambda: true(*before), lambda: false(*before))
        return tuple(_merged(test, x, y, name) for x, y, name in zip(a, b, names))

    @staticmethod
    def returned(test: Any, true: Any, false: Any, before: tuple[Any, ...], names: tuple[str, ...]) -> Any:
        if not _unknown(test):
            return (true if test else false)(*before)
        return _merged(test, *_both(lambda: true(*before), lambda: false(*before)), "the result")

    @staticmethod
    def chosen(test: Any, true: Any, false: Any) -> Any:
        return (true if test else false)() if not _unknown(test) else _merged(test, *_both(true, false), "the result")

    @staticmethod
    def both(*parts: Callable[[], Any]) -> Any:
        from ._operators import logical_and

        found = parts[0]()
        for each in parts[1:]:
            if not _unknown(found):
                if not found:
                    return found
                found = each()
            else:
                found = logical_and(found, each())
        return found

    @staticmethod
    def either(*parts: Callable[[], Any]) -> Any:
        from ._operators import logical_or

        found = parts[0]()
        for each in parts[1:]:
            if not _unknown(found):
                if found:
                    return found
                found = each()
            else:
                found = logical_or(found, each())
        return found

    @staticmethod
    def negated(value: Any) -> Any:
        from ._operators import logical_not

        return logical_not(value) if _unknown(value) else not value


def _unknown(value: Any) -> bool:
    return isinstance(value, Tensor) and not value.is_concrete


def _both(true: Callable[[], Any], false: Callable[[], Any]) -> tuple[Any, Any]:
    """The results of both branches, in which no variable may be assigned."""
    before, state.pure = state.pure, state.pure + 1
    try:
        return true(), false()
    finally:
        state.pure = before


def _merged(test: Tensor, a: Any, b: Any, name: str) -> Any:
    """What a name is after an `if`: of one branch or the other."""
    if a is b:
        return a
    if a is _UNDEFINED or b is _UNDEFINED:
        raise TypeError(f"{name} must have a value in both branches of an `if` on a tensor")
    if len(test.shape) != 0:
        raise ValueError(f"the condition of an `if` must be a scalar, and it has shape {test.shape}; use tf.where")
    from ._control import _chosen

    try:
        return _nest.map_structure(lambda x, y: x if x is y else _chosen(test, x, y), a, b)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} has values in the branches of an `if` on a tensor that cannot be chosen between: "
                        f"{error}; use tf.where") from None
