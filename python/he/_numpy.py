"""What NumPy's functions mean of encrypted arrays: the same, or an error that names the function."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from he import _he
from he._he import Ciphertext
from he.moments import cov


def _name(function: Any) -> str:
    module = getattr(function, "__module__", None) or "numpy"
    return f"{module.replace('numpy.core', 'numpy').replace('numpy._core', 'numpy')}.{function.__name__}"


def _refused(function: Any, why: str) -> TypeError:
    return TypeError(f"{_name(function)} of encrypted arrays: {why}")


def _step(name: str) -> Callable[[Any, Any], Any]:
    compare: Callable[[Any, Any], Any] = getattr(operator, name)
    mirrored: Callable[[Any, Any], Any] = getattr(
        operator, {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}[name]
    )
    return lambda x, y: compare(x, y) if isinstance(x, Ciphertext) else mirrored(y, x)


def _binary(method: str, reflected: str) -> Callable[[Any, Any], Any]:
    def apply(x: Any, y: Any) -> Any:
        if isinstance(x, Ciphertext):
            made = getattr(x, method)(y)
        else:
            made = getattr(y, reflected)(x) if hasattr(y, reflected) else NotImplemented
        if made is NotImplemented:
            raise TypeError(f"operands of the types {type(x).__name__} and {type(y).__name__}")
        return made

    return apply


def _power(x: Any, exponent: Any) -> Any:
    if not isinstance(x, Ciphertext) or isinstance(exponent, Ciphertext):
        raise TypeError("a power has an encrypted base and an int as its exponent")
    return x ** operator.index(exponent)


def _quotient(x: Any, y: Any) -> Any:
    if not isinstance(x, Ciphertext):
        raise TypeError("a quotient by an encrypted array: multiply by y.inverse(interval)")
    return x / y


#: Functions of one value or of pairs.
_UFUNCS: dict[Any, Callable[..., Any]] = {
    np.add: _binary("__add__", "__radd__"),
    np.subtract: _binary("__sub__", "__rsub__"),
    np.multiply: _binary("__mul__", "__rmul__"),
    np.matmul: _binary("__matmul__", "__rmatmul__"),
    np.true_divide: _quotient,
    np.power: _power,
    np.float_power: _power,
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.square: lambda x: x.square(),
    np.conjugate: lambda x: x.conjugate() if x.dtype.kind == "c" else x.copy(),
    np.absolute: abs,
    np.fabs: abs,
    np.greater: _step("gt"),
    np.greater_equal: _step("ge"),
    np.less: _step("lt"),
    np.less_equal: _step("le"),
    np.equal: _step("eq"),
    np.not_equal: _step("ne"),
}

#: What is written instead of functions without an exact counterpart.
_INSTEAD: dict[str, str] = {
    "exp": "x.exp(interval)",
    "log": "x.log(interval)",
    "sqrt": "x.sqrt(interval)",
    "tanh": "x.tanh(interval)",
    "reciprocal": "x.inverse(interval)",
    "sign": "x.sign(bound, gap)",
    "maximum": "x.max(y, interval=interval)",
    "minimum": "x.min(y, interval=interval)",
    "fmax": "x.max(y, interval=interval)",
    "fmin": "x.min(y, interval=interval)",
    "max": "x.max(interval=interval)",
    "min": "x.min(interval=interval)",
    "amax": "x.max(interval=interval)",
    "amin": "x.min(interval=interval)",
    "sort": "x.sort(interval=interval)",
    "argmax": "x.argmax(interval=interval)",
    "std": "x.std(interval=interval), or the root of the decrypted x.var()",
    "where": "condition * x + (1 - condition) * y",
    "clip": "x.max(low, interval=interval).min(high, interval=interval)",
    "cos": "x.apply(he.Function.approximate(numpy.cos, interval))",
    "sin": "x.apply(he.Function.approximate(numpy.sin, interval))",
    "prod": "the product of the entries, one after the other: x[0] * x[1]",
    "outer": "x.reshape(-1, 1) * y",
    "isclose": "decrypted arrays",
    "allclose": "decrypted arrays",
    "array_equal": "decrypted arrays",
    "vdot": "x.conjugate() @ y",
    "lstsq": "he.lstsq(a, b), whose solution the owner of the key computes",
    "corrcoef": "he.cov(x), and divide by the deviations after decryption",
}


def ufunc(function: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any] | None) -> Any:
    """A universal function of NumPy.

    Raises
    ------
    TypeError
        For one without a meaning here.
    """
    given = {name: value for name, value in (options or {}).items() if value is not None}
    if "out" in given:
        text = "results are other ciphertexts, not arrays of NumPy: write y = y + x for y += x"
        raise _refused(function, text)
    if method == "reduce" and function is np.add:
        # `x` is the only operand; initial and where stay in `given`, and are refused.
        axis = given.pop("axis", 0)
        keep = given.pop("keepdims", False)
        _check_options(np.sum, given)
        return inputs[0].sum(axis=axis, keepdims=keep)
    if method != "__call__":
        raise _refused(function, f"the method {method} is not computed; decrypt the array first")
    _check_options(function, given)
    apply = _UFUNCS.get(function)
    if apply is None:
        raise _refused(function, _instead(function))
    return apply(*inputs)


def _instead(function: Any) -> str:
    instead = _INSTEAD.get(function.__name__)
    if instead is not None:
        return f"write {instead}"
    return (
        "not computed; decrypt them first, or approximate a function of every value with "
        "x.apply(he.Function.approximate(function, interval))"
    )


def _check_options(function: Any, options: dict[str, Any]) -> None:
    for name, value in options.items():
        if value is None or value is np._NoValue or (name == "where" and value is True):
            continue
        raise _refused(function, f"the option {name} has no meaning; leave it out")


_FUNCTIONS: dict[Any, Callable[..., Any]] = {}


def _is(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def remember(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            if hasattr(np, name):
                _FUNCTIONS[getattr(np, name)] = function
        return function

    return remember


def _encrypted(x: Any, function: str) -> Ciphertext:
    if not isinstance(x, Ciphertext):
        raise TypeError(f"numpy.{function}: a {type(x).__name__}, where an encrypted array is expected")
    return x


def _reduced(name: str) -> None:
    def reduce(a: Any, axis: Any = None, *, keepdims: Any = False, **options: Any) -> Any:
        _check_options(getattr(np, name), options)
        keep = False if keepdims is np._NoValue else bool(keepdims)
        return getattr(_encrypted(a, name), name)(axis=axis, keepdims=keep)

    _is(name)(reduce)


def _variance(name: str) -> None:
    def reduce(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, *,
        keepdims: Any = False, **options: Any,
    ) -> Any:  # fmt: skip
        function = getattr(np, name)
        _check_options(function, {"dtype": dtype, "out": out, **options})
        if name == "std":
            raise _refused(function, _instead(function))
        x = _encrypted(a, name)
        keep = False if keepdims is np._NoValue else bool(keepdims)
        variance = x.var(axis=axis, keepdims=keep)
        if ddof == 0:
            return variance
        count = x.size if axis is None else int(np.prod([x.shape[at] for at in np.atleast_1d(axis)]))
        if count <= ddof:
            raise _refused(function, f"ddof={ddof} of {count} values")
        return variance * (count / (count - ddof))

    _is(name)(reduce)


for _each in ("sum", "mean"):
    _reduced(_each)
for _each in ("var", "std"):
    _variance(_each)


@_is("dot")
def _dot(a: Any, b: Any, out: Any = None) -> Any:
    _check_options(np.dot, {"out": out})
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return a * b
    return a @ b


@_is("inner")
def _inner(a: Any, b: Any) -> Any:
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return a * b
    if np.ndim(b) == 2:
        b = b.T if isinstance(b, Ciphertext) else np.transpose(b)
    return a @ b


@_is("vdot")
def _vdot(a: Any, b: Any) -> Any:
    if np.ndim(a) != 1 or np.ndim(b) != 1:
        raise _refused(np.vdot, "vectors of one dimension are expected")
    return np.conjugate(a) @ b


@_is("outer")
def _outer(a: Any, b: Any, out: Any = None) -> Any:
    _check_options(np.outer, {"out": out})
    if np.ndim(a) != 1 or np.ndim(b) != 1:
        raise _refused(np.outer, "vectors of one dimension are expected")
    column = a.reshape(-1, 1) if isinstance(a, Ciphertext) else np.reshape(a, (-1, 1))
    return column * b


@_is("cov")
def _cov(
    m: Any, y: Any = None, rowvar: Any = True, bias: Any = False, ddof: Any = None,
    fweights: Any = None, aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    _check_options(np.cov, {"y": y, "fweights": fweights, "aweights": aweights, "dtype": dtype})
    return cov(_encrypted(m, "cov"), rowvar=bool(rowvar), bias=bool(bias), ddof=ddof)


@_is("average")
def _average(a: Any, axis: Any = None, weights: Any = None, returned: Any = False, **options: Any) -> Any:
    _check_options(np.average, options)
    x = _encrypted(a, "average")
    if returned:
        raise _refused(np.average, "the option returned has no meaning; leave it out")
    if weights is None:
        return x.mean(axis=axis)
    if isinstance(weights, Ciphertext):
        raise _refused(np.average, "encrypted weights: write (x @ w) and w.sum(), and divide after decryption")
    w = np.asarray(weights, dtype=np.float64)
    if x.ndim == 2 and axis in (0, -2) and w.ndim == 1:
        return (w / w.sum()) @ x
    if w.ndim == 1 and (x.ndim == 1 or axis in (1, -1)):
        return x @ (w / w.sum())
    if w.shape != x.shape:
        raise _refused(np.average, f"weights of shape {w.shape} for an array of shape {x.shape}")
    total = np.broadcast_to(w.sum(axis=axis, keepdims=True), w.shape)
    return (x * (w / total)).sum(axis=axis)


@_is("transpose")
def _transpose(a: Any, axes: Any = None) -> Any:
    x = _encrypted(a, "transpose")
    if axes is None or tuple(np.mod(axes, max(x.ndim, 1))) == tuple(range(x.ndim))[::-1]:
        return x.T
    if tuple(np.mod(axes, max(x.ndim, 1))) == tuple(range(x.ndim)):
        return x.copy()
    raise _refused(np.transpose, f"axes {axes} of {x.ndim} dimensions")


@_is("reshape")
def _reshape(a: Any, *args: Any, **options: Any) -> Any:
    shape = options.pop("shape", options.pop("newshape", args[0] if args else None))
    order = options.pop("order", args[1] if len(args) > 1 else "C")
    options.pop("copy", None)
    if order != "C":
        raise _refused(np.reshape, f"order {order!r}, where 'C' is expected")
    _check_options(np.reshape, options)
    return _encrypted(a, "reshape").reshape(shape)


@_is("ravel")
def _ravel(a: Any, order: Any = "C") -> Any:
    if order != "C":
        raise _refused(np.ravel, f"order {order!r}, where 'C' is expected")
    return _encrypted(a, "ravel").reshape(-1)


@_is("squeeze")
def _squeeze(a: Any, axis: Any = None) -> Any:
    x = _encrypted(a, "squeeze")
    axes = range(x.ndim) if axis is None else np.mod(np.atleast_1d(axis), max(x.ndim, 1))
    if axis is not None and any(x.shape[at] != 1 for at in axes):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return x.reshape(tuple(n for at, n in enumerate(x.shape) if n != 1 or at not in axes))


@_is("expand_dims")
def _expand_dims(a: Any, axis: Any) -> Any:
    x = _encrypted(a, "expand_dims")
    return x.reshape(np.expand_dims(np.empty(x.shape, np.bool_), axis).shape)


@_is("atleast_1d")
def _atleast_1d(*arrays: Any) -> Any:
    made = [x.reshape(1) if isinstance(x, Ciphertext) and x.ndim == 0 else x for x in arrays]
    return made[0] if len(made) == 1 else tuple(made)


@_is("copy")
def _copy(a: Any, order: Any = "K", subok: Any = False) -> Any:
    return _encrypted(a, "copy").copy()


@_is("shape")
def _shape(a: Any) -> Any:
    return _encrypted(a, "shape").shape


@_is("ndim")
def _ndim(a: Any) -> Any:
    return _encrypted(a, "ndim").ndim


@_is("size")
def _size(a: Any, axis: Any = None) -> Any:
    x = _encrypted(a, "size")
    return x.size if axis is None else x.shape[axis]


@_is("roll")
def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    x = _encrypted(a, "roll")
    if x.ndim != 1:
        raise _refused(np.roll, "arrays of one dimension are rolled")
    count = len(x)
    return x[[(at - operator.index(shift)) % count for at in range(count)]]


@_is("flip")
def _flip(m: Any, axis: Any = None) -> Any:
    x = _encrypted(m, "flip")
    axes = range(x.ndim) if axis is None else np.mod(np.atleast_1d(axis), x.ndim)
    for at in axes:
        x = x[(slice(None),) * int(at) + (slice(None, None, -1),)]
    return x


@_is("take")
def _take(a: Any, indices: Any, axis: Any = None, **options: Any) -> Any:
    options.pop("mode", None)
    _check_options(np.take, options)
    x = _encrypted(a, "take")
    if axis is None and x.ndim > 1:
        raise _refused(np.take, "give the axis")
    index = indices if np.ndim(indices) == 0 else list(np.asarray(indices))
    return x[(slice(None),) * (0 if axis is None else int(axis) % x.ndim) + (index,)]


def _all_encrypted(function: Any, arrays: Any) -> list[Ciphertext]:
    found = list(arrays)
    if not all(isinstance(x, Ciphertext) for x in found):
        raise _refused(function, "all parts are encrypted arrays; encrypt the others first")
    return found


@_is("concatenate", "concat")
def _concatenate(arrays: Any, axis: Any = 0, out: Any = None, **options: Any) -> Any:
    if options.get("casting") == "same_kind":
        options.pop("casting")
    _check_options(np.concatenate, {"out": out, **options})
    parts = _all_encrypted(np.concatenate, arrays)
    if axis is None:
        parts, axis = [x.reshape(-1) for x in parts], 0
    return _he.concatenate(parts, axis)


@_is("stack")
def _stack(arrays: Any, axis: Any = 0, out: Any = None, **options: Any) -> Any:
    if options.get("casting") == "same_kind":
        options.pop("casting")
    _check_options(np.stack, {"out": out, **options})
    parts = _all_encrypted(np.stack, arrays)
    if any(x.ndim > 1 for x in parts):
        raise _refused(np.stack, "arrays have two dimensions at most; numpy.vstack puts rows below rows")
    if any(x.shape != parts[0].shape for x in parts):
        raise ValueError("all input arrays must have the same shape")
    stacked = _he.stack(parts)
    dimensions = parts[0].ndim + 1
    if not -dimensions <= axis < dimensions:
        raise _refused(np.stack, f"axis {axis} of {dimensions} dimension(s)")
    return stacked.T if dimensions == 2 and axis % 2 == 1 else stacked


@_is("vstack", "row_stack")
def _vstack(tup: Any, **options: Any) -> Any:
    options.pop("casting", None)
    _check_options(np.vstack, options)
    parts = _all_encrypted(np.vstack, tup)
    return _he.concatenate([x if x.ndim == 2 else x.reshape(1, -1) for x in parts], 0)


@_is("hstack")
def _hstack(tup: Any, **options: Any) -> Any:
    options.pop("casting", None)
    _check_options(np.hstack, options)
    parts = [x if x.ndim else x.reshape(1) for x in _all_encrypted(np.hstack, tup)]
    return _he.concatenate(parts, 0 if parts[0].ndim == 1 else 1)


@_is("column_stack")
def _column_stack(tup: Any) -> Any:
    parts = _all_encrypted(np.column_stack, tup)
    return _he.concatenate([x if x.ndim == 2 else x.reshape(-1, 1) for x in parts], 1)


@_is("polyval")
def _polyval(p: Any, x: Any) -> Any:
    if isinstance(p, Ciphertext):
        raise _refused(np.polyval, "encrypted coefficients; write the sum of c * x**k")
    return _encrypted(x, "polyval").polynomial(list(np.asarray(p))[::-1])


@_is("result_type", "iscomplexobj", "isrealobj")
def _types(*arrays: Any) -> Any:
    raise TypeError("numpy: ask x.dtype of an encrypted array")


def function(called: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A function of NumPy's arrays.

    Raises
    ------
    TypeError
        For one without a meaning here.
    """
    apply = _FUNCTIONS.get(called)
    if apply is None:
        raise _refused(called, _instead(called))
    return apply(*args, **options)


def integer_function(called: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A function of NumPy's arrays of integers of TFHE.

    Raises
    ------
    TypeError
        For one without a meaning here.
    """
    x: Any = args[0] if args else None
    if called is np.sum and len(args) == 1 and hasattr(x, "sum"):
        _check_options(np.sum, {name: value for name, value in options.items() if name != "axis"})
        if options.get("axis") in (None, 0, -1):
            return x.sum()
    if called is np.sort and len(args) == 1 and not options and hasattr(x, "sort"):
        return x.sort()
    if called in (np.shape, np.ndim, np.size) and len(args) == 1:
        return called(np.empty(len(x), np.bool_))
    raise TypeError(
        f"{_name(called)} of encrypted integers: not computed; they have the operators of Python's integers, "
        "sum(), sort(), min and max, and all else is for decrypted values"
    )
