"""Pickles without their power: plain values, numpy arrays and torch tensors, and nothing else.

A pickle names functions to be called. Here every name that may be called leads to a stand-in that only keeps what it
was given; any other is refused before anything runs. Neither torch is imported nor numpy's own loading called: arrays
and tensors are made from their bytes at the end, with sizes and strides checked.
"""

from __future__ import annotations

import math
import pickle
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np

from opd_widgets.errors import OpdError, ReadError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BFLOAT16 = "bfloat16"
_STORAGES = {
    "DoubleStorage": "<f8",
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "BFloat16Storage": _BFLOAT16,
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
}
_NUMPY = ("numpy", "numpy.core.multiarray", "numpy._core.multiarray", "numpy.core.numeric", "numpy._core.numeric")
_KINDS = "biufSU"  # dtypes whose bytes mean themselves
_EXPANDED = 1 << 24  # values a tensor may have beyond those stored: strides of 0 repeat one


@dataclass
class _DType:
    """Stands for a numpy dtype: its code, then its byte order as state."""

    code: str
    order: str = "="

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1] if state[1] in {"<", ">"} else "="

    def real(self) -> np.dtype[Any]:
        found = np.dtype(str(self.code)).newbyteorder("=" if self.order == "=" else self.order)  # type: ignore[arg-type]
        if found.kind not in _KINDS:
            msg = f"found an array of dtype {self.code!r}, expected numbers, truth values or text"
            raise ReadError(msg)
        return found


@dataclass
class _Array:
    """Stands for a numpy array: shape, dtype, order and bytes come as state."""

    shape: tuple[int, ...] = (0,)
    dtype: _DType | None = None
    fortran: bool = False
    data: Any = b""

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, self.shape, self.dtype, self.fortran, self.data = state


@dataclass
class _Tensor:
    """Stands for a torch tensor: a window into a storage, which is a dtype and bytes."""

    storage: tuple[str, bytes]
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]


class _Unpickler(pickle.Unpickler):
    """Finds stand-ins only. They are bound methods, so that a pickle cannot write on what it is handed."""

    def __init__(self, file: IO[bytes], storage: Callable[[str], bytes] | None = None) -> None:
        super().__init__(file)
        self._storage = storage

    def find_class(self, module: str, name: str) -> Any:
        """Return the stand-in for a name.

        Raises:
            ReadError: there is none.

        """
        if module in {"builtins", "__builtin__"} and name in {"list", "dict", "set", "frozenset", "tuple"}:
            return {"list": list, "dict": dict, "set": set, "frozenset": frozenset, "tuple": tuple}[name]
        if module == "torch" and name in _STORAGES:
            return name
        stand_ins = {
            ("collections", "OrderedDict"): dict,
            ("collections", "defaultdict"): self._default_dict,
            ("_codecs", "encode"): self._latin1,
            ("__builtin__", "bytes"): self._no_bytes,
            ("torch", "Size"): tuple,
            ("torch._utils", "_rebuild_tensor_v2"): self._tensor,
            ("torch._utils", "_rebuild_parameter"): self._parameter,
            **{(where, "dtype"): self._dtype for where in _NUMPY},
            **{(where, "ndarray"): self._array for where in _NUMPY},
            **{(where, "_reconstruct"): self._array for where in _NUMPY},
            **{(where, "scalar"): self._scalar for where in _NUMPY},
            **{(where, "_frombuffer"): self._buffer for where in _NUMPY},
        }
        if (module, name) not in stand_ins:
            msg = (
                f"found {module}.{name} in a pickle, expected plain values, numpy arrays and torch tensors only. Write "
                "the dump anew from those, as JSON or with torch.save of a plain dict"
            )
            raise ReadError(msg)
        return stand_ins[module, name]

    def persistent_load(self, pid: Any) -> Any:
        """Return a storage's dtype and bytes: `("storage", kind, key, device, length)`."""
        if self._storage is None or pid[0] != "storage":
            msg = f"found a reference {pid!r:.60} to something outside the pickle, expected none"
            raise ReadError(msg)
        return _STORAGES[pid[1]], self._storage(str(pid[2]))

    def _default_dict(self, *_factory: Any) -> dict[Any, Any]:
        return {}

    def _latin1(self, text: str, _encoding: str) -> bytes:
        return text.encode("latin-1")

    def _no_bytes(self) -> bytes:
        return b""

    def _dtype(self, code: str, *_copy: Any) -> _DType:
        return _DType(code)

    def _array(self, *_empty: Any) -> _Array:
        return _Array()

    def _scalar(self, dtype: _DType, data: bytes = b"") -> _Array:
        return _Array((), dtype, data=data)

    def _buffer(self, data: Any, dtype: _DType, shape: tuple[int, ...], order: str) -> _Array:
        return _Array(shape, dtype, order == "F", data)

    def _tensor(self, storage: Any, offset: int, size: Any, stride: Any, *_grad: Any) -> _Tensor:
        return _Tensor(storage, offset, tuple(size), tuple(stride))

    def _parameter(self, data: Any, *_grad: Any) -> Any:
        return data


def load_pickle(file: IO[bytes]) -> object:
    """Return what a pickle holds.

    Raises:
        ReadError: it names anything but plain values, arrays and tensors, or is damaged.

    """
    return _loaded(_Unpickler(file))


def load_torch_zip(whole: zipfile.ZipFile) -> object:
    """Return what `torch.save` wrote, tensors as numpy arrays; bfloat16 becomes float32.

    Raises:
        ReadError: it names anything but plain values, arrays and tensors, or is damaged.

    """
    payload = next(name for name in whole.namelist() if name.endswith("data.pkl"))
    folder = payload.removesuffix("data.pkl")
    names = set(whole.namelist())
    if f"{folder}byteorder" in names and whole.read(f"{folder}byteorder") != b"little":
        msg = "found tensors written on a big-endian machine, expected little-endian ones"
        raise ReadError(msg)
    with whole.open(payload) as file:
        return _loaded(_Unpickler(file, lambda key: whole.read(f"{folder}data/{key}")))


def _loaded(unpickler: _Unpickler) -> object:
    try:
        return _plain(unpickler.load(), {})
    except OpdError:
        raise
    except Exception as error:  # whatever a damaged or hostile pickle breaks
        msg = f"the pickle cannot be read: {type(error).__name__}: {error}"
        raise ReadError(msg) from error


def _plain(value: Any, seen: dict[int, Any]) -> Any:
    """Return a value with its stand-ins made real; what is shared stays shared."""
    if id(value) in seen:
        return seen[id(value)][1]
    made: Any = value
    if isinstance(value, dict):
        made = {_plain(key, seen): _plain(entry, seen) for key, entry in value.items()}
    elif isinstance(value, list):
        made = [_plain(entry, seen) for entry in value]
    elif isinstance(value, tuple):
        made = tuple(_plain(entry, seen) for entry in value)
    elif isinstance(value, _Tensor):
        made = _real_tensor(value)
    elif isinstance(value, _Array):
        made = _real_array(value, seen)
    elif isinstance(value, _DType):
        made = str(value.code)
    seen[id(value)] = (value, made)  # keeping the value keeps its id its own
    return made


def _real_array(array: _Array, seen: dict[int, Any]) -> Any:
    order: Literal["F", "C"] = "F" if array.fortran else "C"
    if array.dtype is None:
        return np.zeros(0)
    if str(array.dtype.code).startswith("O"):
        flat = np.empty(len(array.data), object)
        for index, entry in enumerate(array.data):
            flat[index] = _plain(entry, seen)
        return flat.reshape(array.shape, order=order)
    real = np.frombuffer(bytes(array.data), array.dtype.real()).reshape(array.shape, order=order)
    return real.item() if real.ndim == 0 else real.copy()


def _real_tensor(tensor: _Tensor) -> NDArray[Any]:
    kind, data = tensor.storage
    flat = np.frombuffer(data, "<u2" if kind == _BFLOAT16 else kind)
    if kind == _BFLOAT16:
        flat = (flat.astype(np.uint32) << 16).view(np.float32)
    window: list[Any] = [tensor.offset, *tensor.size, *tensor.stride]
    if any(not isinstance(number, int) or number < 0 for number in window):
        msg = f"found a tensor of size {tensor.size} and stride {tensor.stride}, expected whole numbers from 0"
        raise ReadError(msg)
    count = math.prod(tensor.size)
    if count == 0:
        return np.zeros(tensor.size, flat.dtype)
    last = tensor.offset + sum((n - 1) * step for n, step in zip(tensor.size, tensor.stride, strict=True))
    if last >= len(flat) or count > max(len(flat), _EXPANDED):
        msg = f"found a tensor that reaches to value {last} of a storage of {len(flat)}; the file is damaged"
        raise ReadError(msg)
    strides = [step * flat.itemsize for step in tensor.stride]
    return np.lib.stride_tricks.as_strided(flat[tensor.offset :], tensor.size, strides, writeable=False).copy()
