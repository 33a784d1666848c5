"""Where a numeric difference lies: identical, inside the noise floor, inside the bound of the executed
precision, or a real error."""
import json

from support import MODELS, Case

RUN = ["--batch_sizes", "8", "--quick", "--iterations", "5", "--stability", "repeat=10"]
FP32 = ["--task", "fashion-mnist-cnn-onnx-fp32", *RUN]
INT8 = ["--task", "fashion-mnist-cnn-onnx-int8", *RUN]


class NoiseFloor(Case):
    def placed(self, *arguments, hardware="CPU"):
        """The run, its numeric criterion and its only output."""
        run = self.run_assay("--hardware_type", hardware, *arguments)
        self.assert_complete(run)
        criterion = [c for c in run.result["criteria"] if c["name"] == "numeric"][0]
        self.assertEqual(len(run.result["numeric"]), 1)
        return run, criterion, run.result["numeric"][0]

    def test_what_is_identical_needs_no_floor(self):
        _, criterion, output = self.placed(*FP32)
        self.assertEqual(criterion["outcome"], "pass")
        self.assertEqual(output["placement"], "identical")
        self.assertIsNone(output["noise_floor"])

    def test_another_order_of_operators_is_inside_the_floor(self):
        run, criterion, output = self.placed(*FP32, "--set", "graph_optimization=none")
        self.assertEqual(criterion["outcome"], "pass", criterion)
        self.assertEqual(output["placement"], "inside_floor")
        self.assertGreater(output["max_abs"], 0)
        floor = output["noise_floor"]
        self.assertLessEqual(output["max_abs"], floor["allowance"] * floor["max_abs"])
        self.assertLessEqual(output["rmse"], floor["allowance"] * floor["rmse"])
        names = [variation["name"] for variation in floor["variations"]]
        for words in ("thread", "batch size", "unit in the last place", "not optimised",
                      "rounding of FP32"):
            self.assertTrue(any(words in name for name in names), (words, names))
        # A floor that is beyond what fp32 explains would show nothing.
        self.assertLess(floor["max_abs"], floor["bound"]["max_abs"])
        page = (run.folder / "report.html").read_text()
        self.assertIn("inside the noise floor", page)

    def test_int8_is_inside_its_own_bound_and_not_the_floor(self):
        _, criterion, output = self.placed(*INT8)
        self.assertEqual(criterion["outcome"], "pass", criterion)
        self.assertEqual(output["placement"], "inside_precision")
        self.assertEqual(output["noise_floor"]["bound"]["precision"], "INT8")
        self.assertGreater(output["max_abs"], 100 * output["noise_floor"]["max_abs"])

    def test_what_rounding_does_not_explain_is_a_real_error(self):
        """Answers off by 0.1 % at most, which no accuracy shows."""
        run, criterion, output = self.placed(*FP32, "--set", "fault=seeded_rounding",
                                             hardware="WRAPPER")
        self.assertEqual(run.code, 1)
        self.assertEqual(run.result["verdict"], "fail")
        self.assertEqual(criterion["outcome"], "fail")
        self.assertIn("a real error", criterion["detail"])
        self.assertEqual(output["placement"], "real_error")
        accuracy = [c for c in run.result["criteria"] if c["name"] == "accuracy"][0]
        self.assertEqual(accuracy["outcome"], "pass")

    def test_a_floor_is_measured_once(self):
        for folder in ("first", "second"):
            self.folder = self.temp / folder
            run, _, output = self.placed(*FP32, "--set", "graph_optimization=none")
            numeric = [p for p in run.result["phases"] if p["name"] == "numeric"][0]
            if folder == "second":
                self.assertEqual(output["noise_floor"], first)
                # No worker ran for it.
                self.assertFalse(list(run.folder.glob("**/noise-floor*")))
                self.assertEqual(numeric["outcome"], "ok")
            first = output["noise_floor"]

    def test_an_altered_floor_is_not_believed(self):
        cache = self.temp / "cache"
        floors = []
        for number in range(2):
            self.folder = self.temp / f"run{number}"
            run = self.run_assay("--hardware_type", "CPU", *FP32, "--set", "graph_optimization=none",
                                 ASSAY_CACHE=str(cache))
            self.assert_complete(run)
            floors.append(run.result["numeric"][0]["noise_floor"])
            [kept] = cache.glob("reference/*.noise.json")
            document = json.loads(kept.read_text())
            document["floors"][0]["variations"][0]["max_abs"] = 1e9
            kept.write_text(json.dumps(document))
        self.assertEqual(floors[1], floors[0])

    def test_a_fixed_batch_has_a_floor_too(self):
        _, criterion, output = self.placed(
            "--model", MODELS / "fixed_batch2.onnx", "--quick", "--iterations", "1", "--stability",
            "repeat=2", "--set", "fault=seeded_rounding", hardware="WRAPPER")
        self.assertEqual(criterion["outcome"], "fail", criterion)
        names = [variation["name"] for variation in output["noise_floor"]["variations"]]
        self.assertFalse([name for name in names if "batch size" in name], names)

    def test_a_model_that_draws_random_numbers_has_no_floor(self):
        """Its reference differs from one run to the next, which would hide any error."""
        run = self.run_assay("--hardware_type", "CPU", "--quick", "--iterations", "5", "--stability",
                             "repeat=20", "--model", MODELS / "random.onnx",
                             "--set", "graph_optimization=none")
        self.assert_complete(run)
        self.assertEqual(run.result["numeric"][0]["placement"], "unknown")
        self.assertEqual(run.result["verdict"], "fail")
        self.assertIn("random numbers", run.out)
        self.assertIn("differs from one run to the next", "\n".join(run.result["warnings"]))

    def test_one_answer_to_all_inputs_is_no_fault_of_the_backend(self):
        run = self.run_assay("--hardware_type", "CPU", "--quick", "--iterations", "5", "--stability",
                             "repeat=20", "--model", MODELS / "constant.onnx")
        self.assert_complete(run)
        self.assertEqual(run.result["stability"][0]["verdict"], "bit_stable")
        self.assertEqual(run.result["verdict"], "pass")
