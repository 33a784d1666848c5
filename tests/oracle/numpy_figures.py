"""The figures of the numeric comparison from their definitions, in NumPy: in extended precision,
array by array, with nothing of ours in it. None where a figure has no meaning."""
import numpy as np

import arrays

SIGNIFICAND_AND_LEAST = {"FLOAT64": (53, -1022), "FLOAT32": (24, -126), "FLOAT16": (11, -14),
                         "BFLOAT16": (8, -126)}
Wide = np.longdouble


def last_place(magnitude, unit):
    """One unit in the last place of `unit` at each magnitude."""
    bits, least = SIGNIFICAND_AND_LEAST[unit]
    exponent = np.maximum(np.frexp(magnitude)[1] - 1, least)
    return np.ldexp(Wide(1), exponent - bits + 1)


def cosine(r, g):
    if not r.any() or not g.any():
        return 1.0 if r.any() == g.any() else 0.0
    return (r * g).sum() / (np.sqrt((r * r).sum()) * np.sqrt((g * g).sum()))


def nearest_rank(values, p):
    return np.sort(values)[int(np.ceil(p * values.size)) - 1]


def nonfinite_figures(ref, got):
    nan_both = np.isnan(ref) & np.isnan(got)
    inf_both = np.isinf(ref) & np.isinf(got) & (ref == got)
    finite = np.isfinite(ref) & np.isfinite(got)
    return finite, {"nan_both": int(nan_both.sum()), "inf_both": int(inf_both.sum()),
                    "nonfinite_mismatches": int((~(finite | nan_both | inf_both)).sum())}


def relative_figures(pair, a, magnitude, floating):
    counted = (magnitude >= pair.atol) & (magnitude > 0)
    figures = {"relative_elements": int(counted.sum()), "max_rel": None, "mean_rel": None,
               "ulp": None}
    if not counted.any():
        return figures
    relative = a[counted] / magnitude[counted]
    figures.update(max_rel=relative.max(), mean_rel=relative.mean())
    if floating:
        unit = min(pair.ref_dtype, pair.dtype, key=lambda name: SIGNIFICAND_AND_LEAST[name][0])
        places = a[counted] / last_place(magnitude[counted], unit)
        figures["ulp"] = {"unit": unit, "max": places.max(), "p50": nearest_rank(places, 0.5),
                          "p99": nearest_rank(places, 0.99)}
    return figures


def spread_figures(pair, r, d, floating):
    if d.size == 0:
        names = ("max_abs", "mean_abs", "std_abs", "mean_signed", "rmse", "outside_tolerance",
                 "snr_db")
        return dict.fromkeys(names)
    a, magnitude = np.abs(d), np.abs(r)
    outside = a > pair.atol + pair.rtol * magnitude if floating else d != 0
    noise, signal = (d * d).sum(), (r * r).sum()
    return {"max_abs": a.max(), "mean_abs": a.mean(), "std_abs": a.std(), "mean_signed": d.mean(),
            "rmse": np.sqrt(noise / d.size), "outside_tolerance": outside.mean(),
            "snr_db": 10 * np.log10(signal / noise) if noise > 0 and signal > 0 else None}


def agreement(pair):
    """(top-1, top-5): the larger score first, of equal ones the lower class."""
    def best(row):
        return sorted(range(row.size), key=lambda i: (-float(row[i]), i))[:5]
    tops = [(best(r), best(g)) for r, g in zip(pair.ref, pair.got)]
    return (np.mean([r[0] == g[0] for r, g in tops]),
            np.mean([len(set(r) & set(g)) / len(r) for r, g in tops]))


def figures_of(pair):
    floating = pair.dtype in arrays.FLOATING
    ref, got = pair.ref.astype(Wide), pair.got.astype(Wide)
    finite, figures = nonfinite_figures(ref, got)
    r, g = ref[finite], got[finite]
    d = g - r
    figures.update(elements=ref.size, compared=r.size, differing=int(np.count_nonzero(d)))
    figures.update(spread_figures(pair, r, d, floating))
    figures.update(relative_figures(pair, np.abs(d), np.abs(r), floating))
    rows = [(x[f], y[f]) for x, y, f in zip(ref, got, finite)] if ref.ndim > 1 else [
        (ref[i:i + 1][finite[i:i + 1]], got[i:i + 1][finite[i:i + 1]]) for i in range(ref.size)]
    by_sample = [cosine(x, y) for x, y in rows if x.size > 0]
    figures["cosine"] = cosine(r, g) if r.size else None
    figures["min_sample_cosine"] = min(by_sample) if by_sample else None
    figures["samples_differing"] = sum(
        int((x != y).any()) if x.size else 0 for x, y in rows)
    if pair.class_scores:
        figures["top1_agreement"], figures["top5_agreement"] = agreement(pair)
    return figures
