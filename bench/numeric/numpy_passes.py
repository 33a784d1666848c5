#!/usr/bin/env python3
"""The figures of the numeric comparison as NumPy computes them, one pass after the other.

usage: numpy_passes.py REF.npy GOT.npy ATOL RTOL ROUNDS

Prints a JSON object: the figures, and the CPU seconds of the fastest round."""
import json
import os
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # one thread, as ours
    os.environ[name] = "1"
import numpy as np  # noqa: E402


def figures(ref, got, atol, rtol):
    r = ref.astype(np.float64)
    g = got.astype(np.float64)
    nonfinite = np.count_nonzero(~(np.isfinite(r) & np.isfinite(g)))
    d = g - r
    a = np.abs(d)
    magnitude = np.abs(r)
    counted = (magnitude >= atol) & (magnitude > 0)
    relative = a[counted] / magnitude[counted]
    last_place = np.spacing(np.abs(ref[counted])).astype(np.float64)
    rr, gg, rg, dd = np.dot(r, r), np.dot(g, g), np.dot(r, g), np.dot(d, d)
    return {
        "nonfinite_mismatches": int(nonfinite),
        "differing": int(np.count_nonzero(d)),
        "max_abs": a.max(), "mean_abs": a.mean(), "std_abs": a.std(), "mean_signed": d.mean(),
        "rmse": np.sqrt(dd / d.size),
        "max_rel": relative.max(), "mean_rel": relative.mean(),
        "outside_tolerance": np.count_nonzero(a > atol + rtol * magnitude) / d.size,
        "cosine": rg / (np.sqrt(rr) * np.sqrt(gg)),
        "snr_db": 10 * np.log10(rr / dd),
        "max_ulps": (a[counted] / last_place).max(),
    }


def main():
    ref, got = (np.load(path).reshape(-1) for path in sys.argv[1:3])
    atol, rtol = map(float, sys.argv[3:5])
    seconds = []
    for _ in range(int(sys.argv[5])):
        start = time.process_time()
        result = figures(ref, got, atol, rtol)
        seconds.append(time.process_time() - start)
    result["seconds"] = min(seconds)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
