"""One loaded model: its signature, and the call that is timed."""

import ctypes
import sys
import threading
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np

from assay_host import dtypes, outputs
from assay_host.errors import INVALID_ARGUMENT, BridgeError, call, from_vendor
from assay_host.samples import batch_axis, batched_shape, bound, fake_feeds, names_in

Spec = Tuple[str, int, Tuple[int, ...]]  # name, number of the element type, shape with -1 free
Result = Tuple[int, int, int, Tuple[int, ...]]  # address, bytes, number of the element type, shape


_CODES = dtypes.CODE_OF_NUMPY
_first_byte = ctypes.c_char.from_buffer
_address_of = ctypes.addressof


def _address(array: Any) -> int:
    """Of a contiguous array's bytes. The common way takes a quarter of the general one's time."""
    try:
        return _address_of(_first_byte(array))
    except (TypeError, ValueError):  # read-only, or without elements
        return int(array.__array_interface__["data"][0])


def input_specs(info: Dict[str, Any], batch_size: int) -> List[Spec]:
    """The inputs of model info, at this batch size. Raises naming what does not fit together."""
    names, types = names_in(info.get("inputs")), names_in(info.get("input_type"))
    shapes = info.get("input_shape") or {}
    if len(types) != len(names):
        raise BridgeError(INVALID_ARGUMENT, "model info has {} inputs ({}) and {} in input_type ({})".format(
            len(names), ", ".join(names), len(types), ", ".join(types)))
    specs = []
    for name, kind in zip(names, types):
        if name not in shapes:
            raise BridgeError(INVALID_ARGUMENT, 'input "{}": not in input_shape, which has {}'.format(
                name, ", ".join(shapes) or "nothing"))
        specs.append((name, dtypes.code_of_name(kind, name), batched_shape(info, name, batch_size)))
    return specs


class _Input:
    """How the bytes of one input become an array."""

    def __init__(self, spec: Spec, axis: Optional[int]) -> None:
        self.name, self.code, shape = spec
        self.dtype = dtypes.element_type(self.code)
        self.shape = tuple(bound(dim) for dim in shape)
        free = [i for i, dim in enumerate(shape) if dim < 0]
        self.free = bool(free)
        # The bytes alone tell one dimension; of two free ones they cannot.
        self.growing = axis if not free else free[0] if len(free) == 1 else None
        self.nbytes = self.dtype.itemsize * _product(self.shape)

    def shape_of(self, nbytes: int) -> Tuple[int, ...]:
        """Of a call that brings other bytes than loaded: its batch differs, or its only free dimension."""
        if self.growing is not None:
            shape = list(self.shape)
            each = self.dtype.itemsize * _product(shape[: self.growing] + shape[self.growing + 1 :])
            if each and nbytes % each == 0:
                shape[self.growing] = nbytes // each
                return tuple(shape)
        raise BridgeError(INVALID_ARGUMENT, 'input "{}": got {} bytes, wants {} for {}'.format(
            self.name, nbytes, self.nbytes, list(self.shape)))


def _product(shape: Sequence[int]) -> int:
    product = 1
    for dim in shape:
        product *= dim
    return product


class Predictor:
    """Calls the vendor's predict. Any thread; what a call returns stays until the thread's next one."""

    def __init__(self, method: Callable[[Any], Any], info: Dict[str, Any], batch_size: int) -> None:
        self._method = method
        self._info = info
        self._batch_size = batch_size
        self.inputs = input_specs(info, batch_size)
        self.outputs: List[Spec] = []
        self._keys: List[Any] = []
        self._names: List[str] = []
        self._plan = [_Input(spec, batch_axis(info, spec[0])) for spec in self.inputs]
        self._fast = tuple((each.name, each.dtype, each.shape, each.nbytes, each) for each in self._plan)
        self._narrows = outputs.narrows(info)
        self._codes = {dtype: code for dtype, code in _CODES.items()
                       if not (self._narrows and code == dtypes.FLOAT64)}
        self._kept: Dict[int, Any] = {}

    def learn(self) -> List[str]:
        """Calls predict once with generated inputs to learn the outputs; gives what is to be noted."""
        feeds = self._generated()
        arrays = list(feeds.values())
        returned = call("predict", self._method, feeds)
        self._keys, self._names, note = outputs.learn_names(returned, names_in(self._info.get("outputs")))
        if not self._names and isinstance(returned, (list, tuple)):
            self._keys = self._names = ["output_{}".format(i) for i in range(len(returned))]
        elif not self._names and returned is not None:
            self._keys = self._names = ["output"]
        values = outputs.outputs_of(returned, self._keys, self._batch_size)
        found = [outputs.to_array(value, name, self._batch_size) for value, name in zip(values, self._names)]
        notes = [note] if note else []
        wide = [name for name, array in zip(self._names, found) if array.dtype == np.float64]
        if wide and self._narrows:
            found = [outputs.narrow(array) for array in found]
            notes.append("predict returns FLOAT64 for {} of a model in FP32: converted to FLOAT32, within the"
                         " timed call".format(", ".join('"{}"'.format(name) for name in wide)))
        self.outputs = [self._spec(name, array) for name, array in zip(self._names, found)]
        if outputs.is_written_out(returned):
            notes.append("predict returns lists of numbers: read as {}".format(", ".join(
                '"{}" {}'.format(name, list(shape)) for name, _, shape in self.outputs)))
        del feeds, returned, values, found
        return notes + self._kept_inputs(arrays)

    def __call__(self, views: Sequence[memoryview]) -> Tuple[Result, ...]:
        if len(views) != len(self._fast):
            raise BridgeError(INVALID_ARGUMENT, "predict: got {} inputs, wants {}".format(
                len(views), len(self._fast)))
        feeds = {}
        for (name, dtype, shape, nbytes, plan), view in zip(self._fast, views):
            if view.nbytes != nbytes:
                shape = plan.shape_of(view.nbytes)
            feeds[name] = np.ndarray(shape, dtype, view)  # as writable as the view: not at all
        try:
            returned = self._method(feeds)
        except BridgeError:
            raise
        except Exception as failure:
            typed = from_vendor("predict", failure)
            if typed is failure:
                raise
            raise typed
        except SystemExit as failure:
            raise from_vendor("predict", failure)
        return self._results(returned)

    def _values(self, returned: Any) -> Sequence[Any]:
        """The shortest way for the usual forms, the general one for the rest."""
        kind, keys = type(returned), self._keys
        if kind is dict:
            try:
                return [returned[key] for key in keys]
            except KeyError:
                pass  # outputs_of says which
        elif kind is np.ndarray and len(keys) == 1:
            return (returned,)
        elif (kind is list or kind is tuple) and len(returned) == len(keys) and type(returned[0]) is np.ndarray:
            return returned  # type: ignore[no-any-return]
        return outputs.outputs_of(returned, keys, self._batch_size)

    def _results(self, returned: Any) -> Tuple[Result, ...]:
        results, kept = [], []
        for value, name in zip(self._values(returned), self._names):
            code = self._codes.get(value.dtype) if type(value) is np.ndarray and value.flags.c_contiguous else None
            if code is None:
                value = outputs.to_array(value, name, self._batch_size)
                if self._narrows:
                    value = outputs.narrow(value)
                code = outputs.code_of(value)
            kept.append(value)
            results.append((_address(value), value.nbytes, code, value.shape))
        self._kept[threading.get_ident()] = kept
        return tuple(results)

    def _generated(self) -> Dict[str, Any]:
        """Inputs that any model takes: seeded, bounded, and read-only as those of the real calls."""
        shapes = {name: list(shape) for name, _, shape in self.inputs}
        feeds = fake_feeds(1, shapes, [dtypes.NAME_OF[code] for _, code, _ in self.inputs])
        for array in feeds.values():
            array.flags.writeable = False
        return feeds

    def _spec(self, name: str, array: Any) -> Spec:
        """Dimensions that depend on what is free in the inputs are not known to be fixed."""
        shape = tuple(array.shape)
        if any(each.free for each in self._plan):
            shape = tuple(dim if i == 0 and dim == self._batch_size else -1 for i, dim in enumerate(shape))
        return name, outputs.code_of(array), shape

    def _kept_inputs(self, arrays: List[Any]) -> List[str]:
        """Whether predict keeps what is lent for the call: later it may read memory that is gone."""
        kept = []
        alone = object()
        unshared = sys.getrefcount(alone)
        while arrays:
            array = arrays.pop()
            if sys.getrefcount(array) > unshared:
                kept.append('"{}"'.format(self._plan[len(arrays)].name))
        if not kept:
            return []
        return ["predict keeps a reference to its input {}, whose memory is lent for the call only".format(
            ", ".join(reversed(kept)))]
