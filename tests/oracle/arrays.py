"""Seeded pairs of arrays for the oracle tests: every dtype, and what is hard about each."""
import dataclasses
import zlib

import ml_dtypes
import numpy as np

FLOATING = {"FLOAT32": np.float32, "FLOAT16": np.float16, "BFLOAT16": ml_dtypes.bfloat16,
            "FLOAT64": np.float64}
INTEGER = {"INT8": np.int8, "INT64": np.int64, "UINT8": np.uint8, "INT32": np.int32}
DTYPES = {**FLOATING, **INTEGER}


@dataclasses.dataclass
class Pair:
    """ref and got are [samples, ...]."""
    name: str
    ref_dtype: str
    dtype: str
    ref: np.ndarray
    got: np.ndarray
    atol: float = 1e-6
    rtol: float = 1e-5
    class_scores: bool = False

    @property
    def shape(self):
        return list(self.ref.shape[1:])


def generator(name):
    return np.random.default_rng(zlib.crc32(name.encode()))


def noisy(name, dtype, samples=3, elements=1237, noise=1e-3):
    random = generator(name)
    ref = random.normal(size=(samples, elements))
    return (ref.astype(FLOATING[dtype]),
            (ref * (1 + noise * random.normal(size=ref.shape))).astype(FLOATING[dtype]))


def planted(name, dtype, plant):
    """A noisy pair into which plant(ref, got) puts something, in rows [samples, elements]."""
    ref, got = noisy(name, dtype)
    plant(ref, got)
    return Pair(name, dtype, dtype, ref, got)


def nan_on_one_side(ref, got):
    ref[0, 5] = np.nan
    got[1, [7, 511, 512, 1236]] = np.nan


def nan_on_both(ref, got):
    for array in (ref, got):
        array[:, 3] = np.nan
        array[2, 1000:1100] = np.nan


def infinities(ref, got):
    ref[0, :4], got[0, :4] = [np.inf, -np.inf, np.inf, 1], [np.inf, -np.inf, -np.inf, np.inf]
    ref[1, 600], got[1, 600] = np.inf, np.nan


def equal_infinities(ref, got):
    for array in (ref, got):
        array[0, 2], array[1, 600] = np.inf, -np.inf


def zeros(ref, got):
    ref[...], got[...] = 0.0, -0.0


def zero_reference(ref, _):
    ref[...] = 0.0


def zero_result(_, got):
    got[...] = 0.0


def one_zero_sample(ref, _):
    ref[1] = 0.0


def subnormals(ref, got):
    least = ml_dtypes.finfo(ref.dtype).smallest_subnormal
    steps = generator("subnormals").integers(0, 50, size=(2, ref.shape[1]))
    ref[0], got[0] = (steps[0] * np.float64(least)).astype(ref.dtype), (
        steps[1] * np.float64(least)).astype(ref.dtype)


def huge(ref, got):
    most = float(ml_dtypes.finfo(ref.dtype).max)
    ref[0, :3], got[0, :3] = [most, -most, most / 2], [-most, -most, most / 4]


def negative_zeros(ref, got):
    ref[:, ::2], got[:, ::2] = 0.0, -0.0


def equal(ref, got):
    got[...] = ref


PLANTS = (nan_on_one_side, nan_on_both, infinities, equal_infinities, zeros, zero_reference,
          zero_result, one_zero_sample, subnormals, huge, negative_zeros, equal)
# Squares beyond the range of a double have no cosine or RMSE in float64: those of FLOAT64 `huge`.
SKIPPED = {("FLOAT64", "huge"), ("FLOAT64", "subnormals")}


def floating_pairs():
    for dtype in FLOATING:
        yield Pair(f"noise {dtype}", dtype, dtype, *noisy(f"noise {dtype}", dtype))
        for plant in PLANTS:
            if (dtype, plant.__name__) in SKIPPED:
                continue
            pair = planted(f"{plant.__name__} {dtype}", dtype, plant)
            if plant is subnormals:
                pair.atol = 0.0
            yield pair
        scores = noisy(f"scores {dtype}", dtype, samples=40, elements=12, noise=0.2)
        yield Pair(f"scores {dtype}", dtype, dtype, *scores, class_scores=True)


def shaped_pairs():
    for shape in ((4, 0), (2, 3, 0, 5), (1,), (6,), (1, 1), (5, 511), (5, 512), (5, 513),
                  (2, 3, 8, 9)):
        random = generator(str(shape))
        ref = random.normal(size=shape).astype(np.float32)
        got = (ref + 1e-4 * random.normal(size=shape)).astype(np.float32)
        yield Pair(f"shape {shape}", "FLOAT32", "FLOAT32", ref, got)


def mixed_pairs():
    ref, _ = noisy("mixed", "FLOAT32")
    for dtype in ("FLOAT16", "BFLOAT16", "FLOAT64"):
        yield Pair(f"FLOAT32 and {dtype}", "FLOAT32", dtype, ref, ref.astype(FLOATING[dtype]))
    offset = np.full((2, 900), 1e3, np.float32)
    got = offset + np.float32(50) + (np.arange(1800, dtype=np.float32) % 3).reshape(2, 900) / 1024
    yield Pair("a large mean", "FLOAT32", "FLOAT32", offset, got.astype(np.float32))


def integer_pairs():
    for name, dtype in INTEGER.items():
        random = generator(name)
        limits = np.iinfo(dtype)
        ref = random.integers(limits.min, limits.max, size=(3, 700), dtype=dtype, endpoint=True)
        got = ref.copy()
        got[:, ::9] = random.integers(limits.min, limits.max, size=got[:, ::9].shape, dtype=dtype)
        yield Pair(name, name, name, ref, got)
    close = np.int64(2**62) + np.arange(600, dtype=np.int64).reshape(2, 300)
    yield Pair("INT64 beyond 2^53", "INT64", "INT64", close, close + np.int64(1))


def all_pairs():
    return [*floating_pairs(), *shaped_pairs(), *mixed_pairs(), *integer_pairs()]
