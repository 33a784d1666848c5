#!/usr/bin/env python3
"""The numeric comparison, on the same arrays, against NumPy and Polygraphy.

ASSAY_COMPARE_ARRAYS names our program, ASSAY_ORACLE_PYTHON a Python that has both."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

PYTHON = os.environ.get("ASSAY_ORACLE_PYTHON", "")
try:
    import numpy as np
    import polygraphy  # noqa: F401
except ImportError:
    if PYTHON and os.path.exists(PYTHON) and os.environ.get("ASSAY_ORACLE_TRIED") is None:
        os.environ["ASSAY_ORACLE_TRIED"] = "1"
        os.execv(PYTHON, [PYTHON, "-B", *sys.argv])
    print("skipped: NumPy and Polygraphy are missing; tools/setup --test brings them")
    sys.exit(77)

import arrays  # noqa: E402
import numpy_figures  # noqa: E402
from polygraphy.comparator import (  # noqa: E402
    CosineSimilarityCompareFunc, IterationResult, SimpleCompareFunc, SnrCompareFunc)
from polygraphy.logger import G_LOGGER  # noqa: E402

G_LOGGER.module_severity = G_LOGGER.CRITICAL
warnings.simplefilter("ignore", RuntimeWarning)  # NaN, Inf and empty arrays are the point


def save(path, array):
    """BFLOAT16 has no name in .npy: its bits are saved."""
    bits = array.view(np.uint16) if array.dtype.name == "bfloat16" else array
    np.save(path, np.ascontiguousarray(bits), allow_pickle=False)


def ours(pairs):
    """What our program says of each pair."""
    with tempfile.TemporaryDirectory() as folder:
        cases = []
        for i, pair in enumerate(pairs):
            ref, got = (str(pathlib.Path(folder) / f"{i}-{side}.npy") for side in ("ref", "got"))
            save(ref, pair.ref)
            save(got, pair.got)
            cases.append({"reference": ref, "got": got, "reference_dtype": pair.ref_dtype,
                          "dtype": pair.dtype, "shape": pair.shape, "samples": len(pair.ref),
                          "atol": pair.atol, "rtol": pair.rtol, "class_scores": pair.class_scores})
        run = subprocess.run([os.environ["ASSAY_COMPARE_ARRAYS"]], input=json.dumps(cases),
                             capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


class AgainstNumpy(unittest.TestCase):
    def check(self, name, got, want):
        with self.subTest(figure=name):
            if want is None or isinstance(want, (str, int)):
                self.assertEqual(got, want)
            else:
                self.assertIsNotNone(got)
                self.assertLessEqual(abs(got - want), 1e-12 + 1e-10 * abs(want), (got, want))

    def check_ulp(self, got, want):
        if want is None:
            return self.assertIsNone(got)
        self.check("ulp unit", got["unit"], want["unit"])
        self.check("ulp max", got["max"], want["max"])
        for name in ("p50", "p99"):  # the lower edge of a bin, 1/64 wide
            least = max(want[name] * (1 - 1 / 64), 2.0**-16 if want[name] > 0 else 0.0)
            with self.subTest(figure=f"ulp {name}"):
                self.assertLessEqual(got[name], max(want[name], least))
                self.assertGreaterEqual(got[name], min(want[name], least) * (1 - 1e-12))
        return None

    def test_every_figure_of_every_pair(self):
        pairs = arrays.all_pairs()
        self.assertGreater(len(pairs), 60)
        for pair, got in zip(pairs, ours(pairs), strict=True):
            with self.subTest(pair=pair.name):
                self.assertNotIn("error", got)
                want = numpy_figures.figures_of(pair)
                self.check_ulp(got["ulp"], want.pop("ulp"))
                differing = want.pop("samples_differing")
                if want["nonfinite_mismatches"] == 0:
                    self.assertEqual(got["samples_differing"], differing)
                for name, value in want.items():
                    self.check(name, got[name], value)

    def test_a_unit_in_the_last_place_is_numpys_spacing(self):
        for name in ("FLOAT32", "FLOAT16", "FLOAT64"):
            values = np.abs(arrays.generator(name).normal(size=999)).astype(arrays.FLOATING[name])
            np.testing.assert_array_equal(
                numpy_figures.last_place(values.astype(np.float64), name).astype(np.float64),
                np.spacing(values).astype(np.float64))


def polygraphys(compare, ref, got):
    """Polygraphy's result for one output. Its relative error is over the second operand."""
    first, second = (IterationResult({"y": array}, runner_name=name)
                     for array, name in ((got, "got"), (ref, "reference")))
    return compare(first, second)["y"]


def as_doubles(pair):
    return pair.ref.astype(np.float64), pair.got.astype(np.float64)


def is_finite(pair):
    return all(np.isfinite(array.astype(np.float64)).all() for array in (pair.ref, pair.got))


class AgainstPolygraphy(unittest.TestCase):
    """Polygraphy gets the values as float64, where its differences are exact; it takes means in
    float32 all the same."""

    @classmethod
    def setUpClass(cls):
        cls.pairs = [pair for pair in arrays.all_pairs() if pair.ref.size > 0]
        cls.ours = ours(cls.pairs)

    def finite(self):
        return [(p, o) for p, o in zip(self.pairs, self.ours) if is_finite(p)]

    def close(self, got, want, relative):
        self.assertLessEqual(abs(got - want), relative * abs(want) + 1e-300, (got, want))

    def test_absolute_differences(self):
        checked = 0
        for pair, mine in self.finite():
            if pair.dtype == "INT64":  # float64 does not hold its values
                continue
            with self.subTest(pair=pair.name):
                theirs = polygraphys(SimpleCompareFunc(), *as_doubles(pair))
                self.close(mine["max_abs"], theirs.max_absdiff, 1e-15)
                # A float32 holds neither sums of huge values nor subnormal means.
                if 1e-30 < mine["mean_abs"] < 1e30:
                    self.close(mine["mean_abs"], theirs.mean_absdiff, 2e-6)
                checked += 1
        self.assertGreater(checked, 40)

    def test_absolute_differences_of_float32_as_they_are(self):
        pair = next(p for p in self.pairs if p.name == "noise FLOAT32")
        mine = self.ours[self.pairs.index(pair)]
        # Differences of values so close are exact in float32 too.
        theirs = polygraphys(SimpleCompareFunc(), pair.ref, pair.got)
        self.assertEqual(mine["max_abs"], theirs.max_absdiff)

    def test_relative_differences_where_every_reference_counts(self):
        checked = 0
        for pair, mine in self.finite():
            if mine["relative_elements"] != pair.ref.size or pair.dtype == "INT64":
                continue
            with self.subTest(pair=pair.name):
                theirs = polygraphys(SimpleCompareFunc(), *as_doubles(pair))
                self.close(mine["max_rel"], theirs.max_reldiff, 1e-14)
                self.close(mine["mean_rel"], theirs.mean_reldiff, 2e-6)
                checked += 1
        self.assertGreater(checked, 12)

    def test_cosine_zero_vectors_included(self):
        for pair, mine in self.finite():
            with self.subTest(pair=pair.name):
                theirs = polygraphys(CosineSimilarityCompareFunc(), *as_doubles(pair))
                self.assertLess(abs(mine["cosine"] - theirs.cosine_similarity), 1e-9)

    def test_signal_to_noise(self):
        checked = 0
        for pair, mine in self.finite():
            if mine["snr_db"] is None or not 1e-30 < mine["max_abs"] < 1e15:
                continue
            if pair.dtype == "INT64":
                continue
            with self.subTest(pair=pair.name):
                ref, got = as_doubles(pair)
                # Its signal is the first operand.
                theirs = polygraphys(SnrCompareFunc(), got, ref)
                self.assertLess(abs(mine["snr_db"] - theirs.snr), 1e-4)
                checked += 1
        self.assertGreater(checked, 12)

    def verdicts(self, atol, rtol):
        """(pair, whether we find it within the tolerance, whether Polygraphy does)."""
        pairs = [p for p in self.pairs if p.dtype in arrays.FLOATING]
        for pair in pairs:
            pair.atol, pair.rtol = atol, rtol
        for pair, mine in zip(pairs, ours(pairs)):
            compare = SimpleCompareFunc(atol=atol, rtol=rtol, check_error_stat="elemwise",
                                         infinities_compare_equal=True)
            yield pair, mine["verdict"] == "pass", bool(polygraphys(compare, *as_doubles(pair)))

    def test_pass_and_fail_by_one_tolerance_agree_but_for_nan_on_both_sides(self):
        seen = set()
        for atol, rtol in ((1e-3, 0.0), (1e-2, 0.0), (10.0, 0.0), (0.0, 1e-2)):
            for pair, mine, theirs in self.verdicts(atol, rtol):
                if "nan_on_both" in pair.name:
                    continue
                if atol == 0 and (pair.ref == 0).any():
                    continue  # it divides by 2.2e-16 there; another test
                with self.subTest(pair=pair.name, atol=atol, rtol=rtol):
                    self.assertEqual(mine, theirs)
                    seen.add(mine)
        self.assertEqual(seen, {True, False})

    # What follows is where the definitions differ.

    def one(self, ref, got, **options):
        pair = arrays.Pair("one", "FLOAT32", "FLOAT32", np.array([ref], np.float32),
                           np.array([got], np.float32), **options)
        return pair, ours([pair])[0]

    def test_differs_nan_on_both_sides_fails_there_and_is_excluded_here(self):
        pair, mine = self.one([np.nan, 1], [np.nan, 1])
        self.assertFalse(polygraphys(SimpleCompareFunc(), pair.ref, pair.got))
        self.assertEqual((mine["verdict"], mine["nan_both"]), ("pass", 1))

    def test_differs_equal_infinities_fail_there_unless_asked_for(self):
        pair, mine = self.one([np.inf, 1], [np.inf, 1])
        self.assertFalse(polygraphys(SimpleCompareFunc(), pair.ref, pair.got))
        self.assertTrue(polygraphys(SimpleCompareFunc(infinities_compare_equal=True), pair.ref,
                                    pair.got))
        self.assertEqual((mine["verdict"], mine["inf_both"]), ("pass", 1))

    def test_differs_infinities_of_different_sign_fail_in_both(self):
        pair, mine = self.one([np.inf, 1], [-np.inf, 1])
        self.assertFalse(polygraphys(SimpleCompareFunc(infinities_compare_equal=True), pair.ref,
                                     pair.got))
        self.assertEqual((mine["verdict"], mine["nonfinite_mismatches"]), ("fail", 1))

    def test_differs_a_zero_reference_is_divided_by_epsilon_there_and_left_out_here(self):
        pair, mine = self.one([0, 1], [0.5, 1])
        theirs = polygraphys(SimpleCompareFunc(), *as_doubles(pair))
        self.assertAlmostEqual(theirs.max_reldiff, 0.5 / 2.220446049250313e-16, delta=1)
        self.assertEqual((mine["relative_elements"], mine["max_rel"]), (1, 0.0))

    def test_differs_the_larger_tolerance_counts_there_and_their_sum_here(self):
        pair, mine = self.one([1.0], [1.015625], atol=0.0125, rtol=0.0125)
        compare = SimpleCompareFunc(atol=pair.atol, rtol=pair.rtol)
        self.assertFalse(polygraphys(compare, pair.ref, pair.got))
        self.assertEqual(mine["verdict"], "pass")

    def test_differs_an_empty_output_has_a_largest_difference_there_and_none_here(self):
        pair, mine = self.one([], [])
        theirs = polygraphys(SimpleCompareFunc(), pair.ref, pair.got)
        self.assertTrue(theirs)
        self.assertEqual(theirs.max_absdiff, 0)
        self.assertEqual((mine["elements"], mine["identical"], mine["verdict"]), (0, True, "pass"))
        self.assertIsNone(mine["max_abs"])


if __name__ == "__main__":
    unittest.main()
