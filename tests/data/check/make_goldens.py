#!/usr/bin/env python3
"""Writes metrics.json, statistics.json and numeric.json: what NumPy, SciPy and scikit-learn say.

The unit tests of src/check hold the C++ code to these files. Run it again only to change the
cases: `pip install numpy==2.4.6 scikit-learn==1.9.1`, then `python3 make_goldens.py`.
The wanted values come from definitions written here with NumPy in extended precision, or from the
libraries named above; nothing of Assay is used.
"""

import json
import pathlib

import numpy as np
from scipy import optimize, stats
from sklearn import metrics

HERE = pathlib.Path(__file__).parent
# name: (NumPy type of the bits, significand bits, exponent of the smallest normal)
FORMATS = {"FLOAT64": (53, -1022), "FLOAT32": (24, -126), "FLOAT16": (11, -14), "BFLOAT16": (8, -126)}
NUMPY = {"FLOAT64": "<f8", "FLOAT32": "<f4", "FLOAT16": "<f2", "INT64": "<i8", "UINT8": "|u1"}


def binary_case(name, rng, n, decimals=None, kind="probabilities"):
    labels = rng.integers(0, 2, n)
    logits = 1.5 * (labels - 0.5) + rng.normal(0.0, 1.2, n)
    if decimals is not None:
        logits = np.round(logits, decimals)
    probabilities = 1.0 / (1.0 + np.exp(-logits))
    scores = probabilities if kind == "probabilities" else logits
    predicted = (probabilities >= 0.5).astype(int)
    want = {
        "binary_accuracy": metrics.accuracy_score(labels, predicted),
        "auc": metrics.roc_auc_score(labels, scores),
        "log_loss": metrics.log_loss(labels, probabilities),
        "f1": metrics.f1_score(labels, predicted),
        "precision": metrics.precision_score(labels, predicted),
        "recall": metrics.recall_score(labels, predicted),
    }
    return {"name": name, "scores_are": kind, "labels": labels.tolist(),
            "scores": scores.tolist(), "want": want}


def class_case(name, rng, n, classes):
    labels = rng.integers(0, classes, n)
    logits = rng.normal(-3.0, 1.0, (n, classes)).astype(np.float32)  # most are negative
    logits[np.arange(n), labels] += 1.5
    logits = np.round(logits, 3).astype(np.float32)
    logits += (np.arange(classes) * 1e-5).astype(np.float32)  # no ties
    want = {f"top{k}": metrics.top_k_accuracy_score(labels, logits, k=k, labels=range(classes))
            for k in (1, 5)}
    return {"name": name, "labels": labels.tolist(), "classes": classes,
            "scores": [[float(v) for v in row] for row in logits], "want": want}


def score_statistic(both, tested, reference, neither, ratio):
    """Z of H0: p_tested = ratio * p_reference, the variance at the constrained maximum likelihood,
    which is searched for numerically."""
    n = both + tested + reference + neither

    def shares(p):
        p_both, p_reference_only = p
        p_tested_only = ratio * (p_both + p_reference_only) - p_both
        return p_both, p_tested_only, p_reference_only, 1.0 - p_both - p_tested_only - p_reference_only

    def negative_log_likelihood(p):
        total = 0.0
        for share, count in zip(shares(p), (both, tested, reference, neither)):
            if share < 0 or (share == 0 and count > 0):
                return 1e9
            if count > 0:
                total -= count * np.log(share)
        return total

    best = min((optimize.minimize(negative_log_likelihood, start, method="Nelder-Mead",
                                  options={"xatol": 1e-12, "fatol": 1e-12, "maxiter": 20000})
                for start in ([0.9 * ratio * (both + reference) / n, (reference + 0.5) / (n + 2)],
                              [0.5, 0.3], [0.2, 0.2])), key=lambda r: r.fun)
    _, p_tested_only, p_reference_only, _ = shares(best.x)
    difference = (both + tested) / n - ratio * (both + reference) / n
    return difference / np.sqrt(ratio * (p_tested_only + p_reference_only) / n)


def statistics():
    wilson = []
    for k, n in ((0, 10), (18, 20), (20, 20), (9251, 10000), (1434, 1910)):
        interval = stats.binomtest(k, n).proportion_ci(0.95, method="wilson")
        wilson.append({"k": k, "n": n, "low": interval.low, "high": interval.high})
    scores = []
    for table in ((9190, 63, 61, 686), (17, 1, 1, 1), (1400, 34, 21, 455), (40, 2, 9, 9)):
        for ratio in (0.99, 0.9):
            scores.append({"counts": table, "ratio": ratio, "z": score_statistic(*table, ratio)})
    return {"wilson": wilson, "paired_ratio_score": scores}


def bfloat16(values):
    bits = np.asarray(values, "<f4").view("<u4")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")


def encode(values, dtype):
    """Hexadecimal bytes, and the values that the bytes stand for."""
    if dtype == "BFLOAT16":
        bits = bfloat16(values)
        return bits.tobytes().hex(), (bits.astype("<u4") << 16).view("<f4").astype(np.longdouble)
    array = np.asarray(values).astype(NUMPY[dtype])
    return array.tobytes().hex(), array.astype(np.longdouble)


def ulps(distance, reference, unit):
    bits, lowest = FORMATS[unit]
    exponents = np.frexp(np.abs(reference))[1] - 1
    return distance / np.ldexp(np.longdouble(1), np.maximum(exponents, lowest) - (bits - 1))


def numeric_case(name, reference, got, dtypes, unit, atol=1e-6, rtol=1e-5):
    ref_hex, ref = encode(reference, dtypes[0])
    got_hex, val = encode(got, dtypes[1])
    finite = np.isfinite(ref) & np.isfinite(val)
    same = (ref == val) | (np.isnan(ref) & np.isnan(val))
    want = {"nonfinite_mismatches": int(np.sum(~finite & ~same)),
            "nan_both": int(np.sum(np.isnan(ref) & np.isnan(val))),
            "inf_both": int(np.sum(np.isinf(ref) & (ref == val))),
            "compared": int(np.sum(finite))}
    ref, val = ref[finite], val[finite]
    signed = val - ref
    distance = np.abs(signed)
    measured = (np.abs(ref) >= atol) & (ref != 0)
    relative = distance[measured] / np.abs(ref[measured])
    outside = distance > atol + rtol * np.abs(ref) if unit else signed != 0
    want.update(
        differing=int(np.sum(signed != 0)), max_abs=float(distance.max()),
        mean_abs=float(distance.mean()), std_abs=float(distance.std()),
        mean_signed=float(signed.mean()), rmse=float(np.sqrt(np.mean(signed ** 2))),
        max_rel=float(relative.max()), mean_rel=float(relative.mean()),
        outside_tolerance=float(np.mean(outside)),
        cosine=float(ref @ val / (np.sqrt(ref @ ref) * np.sqrt(val @ val))),
        snr_db=float(10 * np.log10((ref @ ref) / (signed @ signed))))
    if unit:
        steps = ulps(distance[measured], ref[measured], unit)
        want["ulp"] = {"unit": unit, "max": float(steps.max()),
                       "p50": float(np.quantile(steps, 0.5, method="inverted_cdf")),
                       "p99": float(np.quantile(steps, 0.99, method="inverted_cdf"))}
    return {"name": name, "reference_dtype": dtypes[0], "dtype": dtypes[1], "atol": atol,
            "rtol": rtol, "reference": ref_hex, "got": got_hex, "want": want}


def numeric(rng):
    n = 700  # more than one block
    base = rng.normal(0.0, 2.0, n)
    noisy = base * (1 + rng.normal(0, 1e-6, n))
    holes = base.copy()
    holes[[3, 50, 600]] = np.nan
    holes[[4, 601]] = np.inf
    other = noisy.copy()
    other[[3, 7, 512]] = np.nan
    other[4], other[601] = np.inf, -np.inf
    tiny = base * np.where(np.arange(n) % 3 == 0, 1e-9, 1.0)
    integers = rng.integers(-2 ** 60, 2 ** 60, n)
    moved = integers + np.where(np.arange(n) % 10 == 0, rng.integers(1, 5, n), 0)
    biased = np.full(n, 1.0) + 1.0 + rng.normal(0, 1e-9, n)
    f32, f16, b16, f64 = "FLOAT32", "FLOAT16", "BFLOAT16", "FLOAT64"
    return [
        numeric_case("float32 against float32", base, noisy, (f32, f32), f32),
        numeric_case("reference float32, backend float16", base, noisy, (f32, f16), f16),
        numeric_case("reference float32, backend bfloat16", base, noisy, (f32, b16), b16),
        numeric_case("NaN and infinities", holes, other, (f32, f32), f32),
        numeric_case("many below atol", tiny, tiny + 1e-7, (f32, f32), f32),
        numeric_case("subnormal halves, no atol", base * 1e-6, noisy * 1.2e-6, (f16, f16), f16, 0.0, 1e-2),
        numeric_case("constant bias with a small spread", np.full(n, 1.0), biased, (f64, f64), f64),
        numeric_case("64-bit integers beyond 2^53", integers, moved, ("INT64", "INT64"), None),
        numeric_case("bytes", rng.integers(0, 256, n), rng.integers(0, 256, n), ("UINT8", "UINT8"), None),
    ]


def write(name, value):
    (HERE / name).write_text(json.dumps(value, separators=(",", ":")) + "\n")


def main():
    rng = np.random.default_rng(20261130)
    write("metrics.json", {
        "binary": [binary_case("probabilities", rng, 200),
                   binary_case("logits with ties", rng, 200, 0, "logits")],
        "classes": [class_case("ten classes", rng, 60, 10)]})
    write("statistics.json", statistics())
    write("numeric.json", {"cases": numeric(rng)})


if __name__ == "__main__":
    main()
