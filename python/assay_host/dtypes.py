"""Element types: the numbers of include/assay/backend.h, NumPy's types, General Perf's names."""

from typing import Any, Dict, Optional

import numpy as np

from assay_host.errors import INVALID_ARGUMENT, UNIMPLEMENTED, BridgeError

FLOAT64, FLOAT32, FLOAT16, BFLOAT16, FLOAT8E4M3 = 1, 2, 3, 4, 5
INT64, INT32, INT16, INT8, UINT8, BOOL, UINT16, UINT32, UINT64 = 6, 7, 8, 9, 10, 11, 12, 13, 14

# What an array of each type is in NumPy. BFLOAT16 and FLOAT8E4M3 are not NumPy's: their bits are
# handed over, or ml_dtypes' arrays where the environment has that package.
NUMPY_OF: Dict[int, "np.dtype[Any]"] = {
    FLOAT64: np.dtype(np.float64), FLOAT32: np.dtype(np.float32), FLOAT16: np.dtype(np.float16),
    BFLOAT16: np.dtype(np.uint16), FLOAT8E4M3: np.dtype(np.uint8),
    INT64: np.dtype(np.int64), INT32: np.dtype(np.int32), INT16: np.dtype(np.int16),
    INT8: np.dtype(np.int8), UINT8: np.dtype(np.uint8), BOOL: np.dtype(np.bool_),
    UINT16: np.dtype(np.uint16), UINT32: np.dtype(np.uint32), UINT64: np.dtype(np.uint64),
}
NAME_OF: Dict[int, str] = {
    FLOAT64: "FLOAT64", FLOAT32: "FLOAT32", FLOAT16: "FLOAT16", BFLOAT16: "BFLOAT16",
    FLOAT8E4M3: "FP8", INT64: "INT64", INT32: "INT32", INT16: "INT16", INT8: "INT8",
    UINT8: "UINT8", BOOL: "BOOL", UINT16: "UINT16", UINT32: "UINT32", UINT64: "UINT64",
}
_CODE_OF_NAME: Dict[str, int] = {name: code for code, name in NAME_OF.items()}
_CODE_OF_NAME.update({"LONG": INT64, "FLOAT": FLOAT32, "DOUBLE": FLOAT64, "HALF": FLOAT16,
                      "BF16": BFLOAT16, "FP16": FLOAT16, "FP32": FLOAT32, "FLOAT8E4M3": FLOAT8E4M3})

# Of arrays, by their type as it stands in this machine's byte order.
CODE_OF_NUMPY: Dict["np.dtype[Any]", int] = {
    dtype: code for code, dtype in NUMPY_OF.items() if code not in (BFLOAT16, FLOAT8E4M3)}
_CODE_OF_EXTENSION: Dict[str, int] = {"bfloat16": BFLOAT16, "float8_e4m3fn": FLOAT8E4M3}


def code_of_name(name: str, tensor: str) -> int:
    """The type that model info gives the input `tensor`."""
    code = _CODE_OF_NAME.get(name.strip().upper())
    if code is not None:
        return code
    if name.strip().upper() == "STRING":
        raise BridgeError(UNIMPLEMENTED, 'input "{}": tensors of STRING do not cross to a backend'.format(tensor))
    raise BridgeError(INVALID_ARGUMENT, 'input "{}": model info names the type "{}"; accepted: {}'.format(
        tensor, name, ", ".join(sorted(_CODE_OF_NAME))))


def code_of_array(dtype: "np.dtype[Any]") -> Optional[int]:
    """None when arrays of this type do not cross."""
    code = CODE_OF_NUMPY.get(dtype)
    return _CODE_OF_EXTENSION.get(dtype.name) if code is None else code


def element_type(code: int) -> "np.dtype[Any]":
    """What vendor code is given: ml_dtypes' types where they are needed and there, else the bits."""
    if code in (BFLOAT16, FLOAT8E4M3):
        try:
            import ml_dtypes
        except ImportError:
            return NUMPY_OF[code]
        return np.dtype(ml_dtypes.bfloat16 if code == BFLOAT16 else ml_dtypes.float8_e4m3fn)
    return NUMPY_OF[code]
