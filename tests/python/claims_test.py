"""benchmark() in the forms and units seen. Latencies are in ms; figures are worked out by hand: batches in
flight = QPS * latency / batch size."""
import json
import sys
import unittest

import support

sys.path.insert(0, str(support.PACKAGE))
from assay_host.claims import claims_of  # noqa: E402


class FromABackend(support.Case):
    def claims(self, form):
        return self.answer_of("""
            host.prepare()
            host.configs["interact_info"] = {{"form": {!r}}}
            host.compile()
            host.load(4)
            text = bridge.benchmark(driver.Loader())
            answer["claims"] = text if text is None else json.loads(text)
            answer["notes"] = bridge.notes()
            """.format(form), backend="CLAIMS")

    def test_a_list_is_as_many_claims(self):
        first, second = self.claims("list")["claims"]
        self.assertEqual((first["batch_size"], first["qps"], first["notes"]), (4, 2000, []))
        self.assertEqual(first["latency_ms"], {"mean": 2.0, "p99": 3.5})
        self.assertEqual(second["batch_size"], 8)
        self.assertEqual(second["notes"], ["the batch size given is 8, 4 was loaded"])

    def test_none_is_no_claim_and_is_noted(self):
        answer = self.claims("none")
        self.assertIsNone(answer["claims"])
        self.assertIn("benchmark returned None: no claim", answer["notes"])

    def test_a_benchmark_that_fails_makes_none_and_is_noted(self):
        answer = self.claims("fails")
        self.assertIsNone(answer["claims"])
        self.assertIn("the backend's benchmark fails, so there is no claim: ZeroDivisionError: division by zero ({})"
                      .format(support.place("CLAIMS", "runtime_backend_claims.py", "1 / 0")), answer["notes"])

    def test_a_backend_without_benchmark_makes_none(self):
        answer = self.answer_of('host.all(); answer["claims"] = bridge.benchmark(driver.Loader())',
                                backend="TUPLES")
        self.assertIsNone(answer["claims"])


class Forms(unittest.TestCase):
    def one(self, figures, batch_size=4):
        (claim,) = claims_of(figures, batch_size)
        json.dumps(claim, allow_nan=False)
        return claim

    def test_the_conventional_dict(self):
        raw = {"BS": 4, "QPS": 2000, "AVG Latency": 2.0, "P99 Latency": 3.5}
        self.assertEqual(self.one(raw), {"batch_size": 4, "qps": 2000, "latency_ms": {"mean": 2.0, "p99": 3.5},
                                         "raw": raw, "notes": []})

    def test_names_with_underscores(self):
        claim = self.one({"BS": 4, "QPS": 2000, "AVG_Latency": 16.0, "P99_Latency": 20})
        self.assertEqual((claim["latency_ms"], claim["notes"]), ({"mean": 16.0, "p99": 20.0}, []))  # 8 in flight

    def test_seconds_are_told_by_the_qps(self):
        claim = self.one({"BS": 1, "QPS": 500.0, "AVG Latency": 0.002, "P99 Latency": -1}, 1)
        self.assertEqual(claim["latency_ms"], {"mean": 2.0, "p99": None})
        self.assertEqual(claim["notes"], [
            "P99 Latency is -1: not a measurement",
            "taken for seconds: with the QPS given, milliseconds would mean 0.001 batches in flight,"
            " seconds mean 1"])

    def test_158_batches_in_flight_are_believed(self):
        claim = self.one({"BS": 1, "QPS": 3134, "AVG Latency": 50.4, "P99 Latency": 60}, 1)
        self.assertEqual((claim["latency_ms"]["mean"], claim["notes"]), (50.4, []))

    def test_what_fits_no_unit_stays_and_is_said(self):
        claim = self.one({"BS": 1, "QPS": 1000, "AVG Latency": 5000.0, "P99 Latency": 6000}, 1)
        self.assertEqual(claim["latency_ms"]["mean"], 5000.0)
        self.assertEqual(claim["notes"], ["taken for milliseconds, though with the QPS given this means 5e+03"
                                          " batches in flight"])

    def test_a_unit_in_the_name_is_used(self):
        claim = self.one({"Batch Size": 4, "QPS": 2000, "AVG Latency (us)": 2000, "P99_latency_ms": 3.5})
        self.assertEqual((claim["latency_ms"], claim["notes"]), ({"mean": 2.0, "p99": 3.5}, []))

    def test_what_is_missing_is_said(self):
        claim = self.one({"AVG Latency": 2.0})
        self.assertEqual((claim["batch_size"], claim["qps"]), (4, None))
        self.assertEqual(claim["latency_ms"], {"mean": 2.0, "p99": None})
        self.assertEqual(claim["notes"], [
            "no batch size is given: the loaded one, 4, is taken", "no QPS is given",
            "no P99 latency is given", "the unit of the latencies is not given and there is no QPS to hold"
            " them against: taken for milliseconds"])
        self.assertIsNone(self.one({"BS": 4, "QPS": 10})["latency_ms"])

    def test_texts_and_no_numbers(self):
        claim = self.one({"BS": "4", "QPS": float("nan"), "AVG Latency": "2.0", "P99 Latency": "n/a"})
        self.assertEqual((claim["batch_size"], claim["qps"]), (4, None))
        self.assertEqual(claim["latency_ms"], {"mean": 2.0, "p99": None})
        for said in ("BS: a text, taken for a number", "QPS: nan is no figure", 'P99 Latency: "n/a" is no number'):
            self.assertIn(said, claim["notes"])

    def test_a_p99_below_the_mean_is_said(self):
        self.assertIn("the P99 latency is below the mean",
                      self.one({"BS": 4, "QPS": 2000, "AVG Latency": 2.0, "P99 Latency": 1.0})["notes"])

    def test_other_figures_stay_in_raw(self):
        self.assertEqual(self.one({"BS": 4, "QPS": 2000, "AVG Latency": 2.0, "P99 Latency": 3.5,
                                   "predict QPS": 2100})["raw"]["predict QPS"], 2100)

    def test_a_dict_of_dicts_by_batch_size(self):
        first, second = claims_of({"1": {"QPS": 500, "AVG Latency": 2.0}, 8: {"QPS": 3000}}, 4)
        self.assertEqual((first["batch_size"], second["batch_size"]), (1, 8))

    def test_keys_that_spell_the_batch_size(self):
        sizes = [claim["batch_size"] for claim in claims_of({"bs4": {"QPS": 500}, "batch size 16": {"QPS": 900}}, 1)]
        self.assertEqual(sizes, [4, 16])

    def test_rows_under_a_name(self):
        first, second = claims_of({"device": "x", "results": [{"BS": 1, "QPS": 90}, {"BS": 4, "QPS": 300}]}, 1)
        self.assertEqual((first["qps"], second["batch_size"], second["qps"]), (90, 4, 300))

    def test_columns(self):
        first, second = claims_of({"BS": [1, 4], "QPS": [90, 300], "AVG Latency": [11.0, 13.0]}, 1)
        self.assertEqual((first["batch_size"], first["qps"]), (1, 90))
        self.assertEqual((second["batch_size"], second["latency_ms"]["mean"]), (4, 13.0))

    def test_what_is_no_dict(self):
        claim = self.one(2000.0)
        self.assertEqual((claim["qps"], claim["raw"]), (None, {"returned": 2000.0}))
        self.assertEqual(claim["notes"], ["benchmark returned float, not a dict or a list of them"])
        self.assertEqual(claims_of([], 4), [])


if __name__ == "__main__":
    unittest.main()
