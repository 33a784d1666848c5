"""Names that NumPy took away and published code still uses at import: np.long, np.bool and their kin."""

import warnings
from typing import Any, Dict, List

import numpy as np

_NAMES: Dict[str, Any] = {
    "bool": bool, "int": int, "float": float, "complex": complex, "object": object, "str": str,
    "long": int, "unicode": str, "float_": np.float64, "complex_": np.complex128,
    "unicode_": np.str_, "string_": np.bytes_, "Inf": np.inf, "Infinity": np.inf, "NaN": np.nan,
    "product": np.prod, "in1d": np.isin,
}


def restore() -> List[str]:
    """Sets the names that this NumPy lacks; gives them."""
    missing = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some are there and only deprecated
        for name, value in _NAMES.items():
            if not hasattr(np, name):
                setattr(np, name, value)
                missing.append(name)
    return missing
