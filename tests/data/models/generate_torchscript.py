#!/usr/bin/env python3
"""Writes the TorchScript models of the tests beside itself: linear.pt, the linear model of
generate_tensorflow.py, and two of two inputs that return several values.

Usage: python3 generate_torchscript.py [FOLDER]     (needs NumPy)
"""

import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tools" / "fetch" / "recipes"))

import torchscript  # noqa: E402

# ramp(4, 3) of generate.py.
WEIGHT = ((np.arange(12) * 37 % 101 - 50) * 0.01).astype(np.float32).reshape(4, 3)

SUM_AND_PRODUCT = ["s = torch.add(a, b, alpha=1)", "p = torch.mul(a, b)"]


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    torchscript.write(folder / "linear.pt", {"w": WEIGHT}, ["x"], "Tensor",
                      ["y = torch.matmul(x, self.w)", "return y"])
    torchscript.write(folder / "pair.pt", {}, ["a", "b"], "Tuple[Tensor, Tensor]",
                      [*SUM_AND_PRODUCT, "return (s, p)"])
    torchscript.write(folder / "named_pair.pt", {}, ["a", "b"], "Dict[str, Tensor]",
                      [*SUM_AND_PRODUCT, 'return {"sum": s, "product": p}'])
    print(f"wrote {folder}")


if __name__ == "__main__":
    main()
