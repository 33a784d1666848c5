"""What predict() returned, as arrays in the order of the outputs: by name or by position, from arrays,
tensors of any framework, lists of numbers and scalars."""

import sys
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from assay_host import dtypes
from assay_host.errors import INTERNAL, BridgeError
from assay_host.samples import names_in

Array = Any  # numpy.ndarray: its generic form is newer than the oldest NumPy that is supported


def _names(names: Sequence[str]) -> str:
    return ", ".join('"{}"'.format(name) for name in names)


def is_mapping(returned: Any) -> bool:
    return isinstance(returned, dict) or (
        hasattr(returned, "keys") and hasattr(returned, "__getitem__") and not is_tensor(returned))


def is_tensor(value: Any) -> bool:
    """An array, or what a framework calls a tensor: known by what it can do, not by its module."""
    return isinstance(value, np.ndarray) or (
        hasattr(value, "dtype") and hasattr(value, "shape") and any(
            hasattr(value, method) for method in ("numpy", "__array__", "asnumpy", "get", "toarray")))


def outputs_of(returned: Any, names: Sequence[Any], batch_size: int) -> List[Any]:
    """The values in the order of `names`, not converted yet. Raises naming both sides."""
    if returned is None:
        raise BridgeError(INTERNAL, "predict returned None, wants {}".format(_names(names)))
    if is_mapping(returned):
        return _by_name(returned, names)
    if is_tensor(returned):
        return _by_position([returned], names)
    if isinstance(returned, (list, tuple)):
        values = list(returned)
        if len(names) == 1 and _is_numbers(values) and not _is_list_of_one(values, batch_size):
            return [values]
        return _by_position(values, names)
    if len(names) == 1 and np.isscalar(returned):
        return [returned]
    raise BridgeError(INTERNAL, "predict returned {}, wants {} as a dict, a list, a tuple, an array or a"
                      " tensor".format(type(returned).__name__, _names(names)))


def _by_name(returned: Any, names: Sequence[str]) -> List[Any]:
    missing = [name for name in names if name not in returned]
    if not missing:
        return [returned[name] for name in names]
    got = [str(key) for key in returned.keys()]
    raise BridgeError(INTERNAL, "predict returned {} outputs named {}, wants {} named {}".format(
        len(got), _names(got) or "nothing", len(names), _names(names)))


def _by_position(values: List[Any], names: Sequence[str]) -> List[Any]:
    if len(values) != len(names):
        raise BridgeError(INTERNAL, "predict returned {} outputs, wants {}: {}".format(
            len(values), len(names), _names(names)))
    return values


def _is_numbers(values: List[Any]) -> bool:
    """Lists of numbers, however nested: one array written out."""
    first = values[0] if values else None
    while isinstance(first, (list, tuple)) and first:
        first = first[0]
    return isinstance(first, (bool, int, float, np.generic))


def _is_list_of_one(values: List[Any], batch_size: int) -> bool:
    """Whether nested lists are a list with one output, whose first dimension is the batch, and not the
    output itself."""
    inner = values[0]
    return (len(values) == 1 and isinstance(inner, (list, tuple)) and len(inner) == batch_size
            and isinstance(inner[0], (list, tuple)))


def is_written_out(returned: Any) -> bool:
    """Whether numbers come as Python's lists: what is an output and what a dimension is then a guess."""
    return isinstance(returned, (list, tuple)) and _is_numbers(list(returned))


def learn_names(returned: Any, declared: Sequence[str]) -> Tuple[List[str], List[str], Optional[str]]:
    """(keys, names, note): where each output stands in what predict returns, and what it is called,
    from the first result and the names of model info. A dict with none of these names and as many
    values is taken by position, which the note says."""
    names = list(declared)
    if not is_mapping(returned):
        return names, names, None
    keys = [key for key in returned.keys()]
    if not names:
        return keys, [str(key) for key in keys], None
    bare = {str(key).partition(":")[0]: key for key in keys}
    if not set(names) & set(keys) and all(name.partition(":")[0] in bare for name in names):
        return [bare[name.partition(":")[0]] for name in names], names, None  # "logits" for "logits:0"
    surplus = [str(key) for key in keys if key not in names]
    if len(keys) == len(names) == len(surplus):
        return keys, names, "predict names its outputs {}, model info {}: taken in this order".format(
            _names(surplus), _names(names))
    note = None
    if surplus and len(keys) - len(surplus) == len(names):
        note = "predict also returns {}, which model info does not name: not used".format(_names(surplus))
    return names, names, note  # outputs_of says what is missing


def to_array(value: Any, name: str, batch_size: int = 0) -> Array:
    """`value` as a contiguous array on the host, of a type that crosses. A list of one array whose first
    dimension is the batch is that array."""
    if isinstance(value, (list, tuple)) and len(value) == 1 and is_tensor(value[0]):
        if len(value[0].shape) and value[0].shape[0] == batch_size:
            value = value[0]
    array = value if isinstance(value, np.ndarray) else _convert(value, name)
    if dtypes.code_of_array(array.dtype) is None:
        native = array.dtype.newbyteorder("=")
        if dtypes.code_of_array(native) is None:
            raise BridgeError(INTERNAL, 'output "{}": got elements of {}, accepted: {}'.format(
                name, array.dtype, ", ".join(sorted(dtypes.NAME_OF.values()))))
        array = array.astype(native)
    # ascontiguousarray makes a scalar a list of one.
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def _convert(value: Any, name: str) -> Array:
    if value is None:
        raise BridgeError(INTERNAL, 'output "{}": got None, wants an array'.format(name))
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        return _of_torch(value, name)
    if hasattr(value, "toarray") and hasattr(value, "nnz"):
        return np.asarray(value.toarray())  # a sparse matrix, written out
    for method in ("numpy", "asnumpy", "get"):
        if is_tensor(value) and hasattr(value, method):
            return np.asarray(getattr(value, method)())
    try:
        array = np.asarray(value)
    except ValueError as failure:
        raise BridgeError(INTERNAL, 'output "{}": got {}, wants an array: {}'.format(
            name, type(value).__name__, failure))
    if array.dtype == object:
        raise BridgeError(INTERNAL, 'output "{}": got {} that is no array of numbers'.format(
            name, type(value).__name__))
    return array


def _of_torch(tensor: Any, name: str) -> Array:
    """cpu() waits for the device, so the bytes are there when it returns."""
    kind = str(getattr(tensor, "dtype", "")) or "unknown elements"
    try:
        host = _plain_torch(tensor.detach().cpu())
        is_bfloat16 = str(getattr(host, "dtype", "")).endswith("bfloat16")
        return _bfloat16_of_torch(host) if is_bfloat16 else np.asarray(host.numpy())
    except (TypeError, RuntimeError) as failure:
        why = (str(failure) or type(failure).__name__).splitlines()[0]
        raise BridgeError(INTERNAL, 'output "{}": got a tensor of {} that does not become an array: {}'.format(
            name, kind, why))


def _plain_torch(host: Any) -> Any:
    """Written out where it is stored otherwise: sparse, quantised, or with a conjugation to come."""
    if "strided" not in str(getattr(host, "layout", "strided")):
        host = host.to_dense()
    if getattr(host, "is_quantized", False):
        host = host.dequantize()
    for pending in ("resolve_conj", "resolve_neg"):
        if hasattr(host, pending):
            host = getattr(host, pending)()
    return host


def _bfloat16_of_torch(host: Any) -> Array:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(host, getattr(torch, "Tensor", ())):
        bits = host.contiguous().view(torch.int16).numpy().view(np.uint16)
    else:
        # The upper half of binary32, so nothing is lost on the way there and back.
        bits = (np.ascontiguousarray(host.float().numpy()).view(np.uint32) >> 16).astype(np.uint16)
    return bits.view(_BFloat16Bits)


def narrows(info: Dict[str, Any]) -> bool:
    """Whether FLOAT64 is no type of the model's: published code widens by accident, in NumPy's arithmetic."""
    return (str(info.get("model_precision", "")).upper() in ("FP32", "FLOAT32")
            and "FLOAT64" not in [kind.upper() for kind in names_in(info.get("input_type"))])


def narrow(array: Array) -> Array:
    """As FLOAT32, if it is FLOAT64."""
    return array.astype(np.float32) if array.dtype == np.float64 else array


class _BFloat16Bits(np.ndarray):  # type: ignore[type-arg]
    """Marks an array of uint16 as the bits of BFLOAT16."""


def code_of(array: Array) -> int:
    """The number of the array's type; the array came from to_array."""
    if isinstance(array, _BFloat16Bits):
        return dtypes.BFLOAT16
    code = dtypes.code_of_array(array.dtype)
    assert code is not None
    return code
