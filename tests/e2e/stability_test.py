"""The stability matrix on backends with a planted fault, and on healthy ones."""
import pathlib

from support import Case

TASK = ["--task", "fashion-mnist-cnn-onnx-fp32", "--batch_sizes", "1,8", "--quick",
        "--iterations", "5"]


class StabilityCase(Case):
    def matrix(self, *arguments, hardware="WRAPPER", **environment):
        """The run, and its axes by name."""
        run = self.run_assay(*TASK, "--hardware_type", hardware, *arguments, **environment)
        self.assert_complete(run)
        return run, {axis["axis"]: axis for axis in run.result["stability"]}

    def assert_found(self, fault, axis, cause, *arguments):
        """The axis is unstable and named with these words, and the run fails by it."""
        folder = self.temp / fault
        run = self.run_assay(*TASK, "--hardware_type", "WRAPPER", "--set", f"fault={fault}",
                             *arguments, folder=folder)
        self.assert_complete(run)
        self.assertEqual(run.code, 1, run.out + run.err)
        axes = {entry["axis"]: entry for entry in run.result["stability"]}
        self.assertEqual(axes[axis]["verdict"], "unstable", fault)
        self.assertIn(cause, axes[axis]["suspected_cause"], fault)
        criterion = [c for c in run.result["criteria"] if c["name"] == "stability"][0]
        self.assertEqual(criterion["outcome"], "fail")
        self.assertIn(cause, criterion["detail"])
        self.assertIn(cause, (folder / "report.html").read_text().replace("&#39;", "'"))
        return axes


class FaultsOfCalls(StabilityCase):
    """What changes an answer from call to call on one handle."""

    def test_each_is_named(self):
        for fault, cause in (
                ("async_input", "an input is not waited for"),
                ("partial_output", "part of an output is not written"),
                ("late_output", "the answer of the call before"),
                ("kept_state", "state is kept between calls"),
                ("shape_cache", "a result cache that ignores the input"),
                ("random_rounding", "random numbers without a fixed seed"),
                ("seeded_rounding", "begins anew with each handle"),
                ("uninitialised_padding", "uninitialised memory"),
                ("reuse_input", "writes into the caller's input")):
            with self.subTest(fault):
                axes = self.assert_found(fault, "repeat", cause)
                self.assertIn("--stability repeat=", axes["repeat"]["command"])

    def test_what_takes_many_calls_is_found_by_a_budget_that_has_them(self):
        axes = self.assert_found("changes_after", "repeat", "change for good after 10000 calls",
                                 "--stability", "repeat=10001")
        self.assertEqual(axes["repeat"]["first_differing_call"], 10_000)
        self.assertEqual(axes["handle"]["verdict"], "not_tested")
        self.assert_found("early_return", "repeat", "calls return without doing their work",
                          "--stability", "repeat=400")

    def test_the_bound_says_what_a_budget_cannot_see(self):
        _, axes = self.matrix("--set", "fault=changes_after", "--stability", "repeat=100")
        self.assertEqual(axes["repeat"]["differing"], 0)
        self.assertAlmostEqual(axes["repeat"]["rate_upper_95"], 1 - 0.05 ** (1 / 100), 12)


class FaultsOfCircumstance(StabilityCase):
    """What changes an answer with the batch, the callers or the compilation."""

    def test_each_is_named(self):
        for fault, axis, cause in (
                ("neighbour_leak", "neighbours", "leak into each other"),
                ("last_slot", "position", "the last place of a batch")):
            with self.subTest(fault):
                axes = self.assert_found(fault, axis, cause)
                self.assertEqual(axes["repeat"]["verdict"], "bit_stable")
                self.assertEqual(axes["compilation"]["verdict"], "bit_stable")

    def test_race(self):
        self.assert_found("race", "concurrency", "a race", "--stability", "concurrency=10001")

    def test_compiler(self):
        """One bad artifact in ten, drawn by a fixed seed, within the compilations of `standard`."""
        axes = self.assert_found(
            "compile_flaky", "compilation", "the compiler is not deterministic",
            "--set", "fault_rate=0.1", "--set", "fault_seed=5",
            "--set", f"fault_counter={self.temp / 'compilations'}", "--stability", "compilation=44")
        self.assertLess(axes["compilation"]["differing"], 20)
        self.assertEqual(axes["compilation"]["n"], 44)

    def test_one_compilation_in_a_hundred_within_those_of_deep(self):
        axes = self.assert_found(
            "compile_flaky", "compilation", "the compiler is not deterministic",
            "--set", "fault_rate=0.01", "--set", "fault_seed=5",
            "--set", f"fault_counter={self.temp / 'compilations'}",
            "--stability", "compilation=459")
        self.assertEqual(axes["compilation"]["n"], 459)
        self.assertLess(axes["compilation"]["differing"], 20)

    def test_a_backend_that_fails_costs_the_phase(self):
        run, axes = self.matrix(hardware="FAULTY", ASSAY_FAULT="infer:every_5th")
        self.assertEqual(run.phase("stability")["outcome"], "failed")
        self.assertIn("call fails on demand", run.phase("stability")["reason"])
        for axis in axes.values():
            self.assertEqual(axis["verdict"], "not_tested")
            self.assertIn("call fails on demand", axis["why"])


class HealthyBackends(StabilityCase):
    def test_no_accusation(self):
        for hardware, options in (("WRAPPER", ["--set", "fault=none"]), ("CPU", []),
                                  ("CPU", ["--set", "intra_op_threads=2"])):
            with self.subTest(hardware=hardware, options=options):
                self.folder = self.temp / f"{hardware}-{len(options)}"
                run, axes = self.matrix(*options, hardware=hardware)
                self.assertEqual([a for a in axes.values() if a["verdict"] == "unstable"], [])
                criterion = [c for c in run.result["criteria"] if c["name"] == "stability"][0]
                self.assertEqual(criterion["outcome"], "pass")

    def test_nothing_is_left_behind(self):
        run, _ = self.matrix(hardware="CPU")
        self.assertFalse((pathlib.Path(run.folder) / "stability").exists())

    def test_wrong_budgets_are_refused(self):
        run = self.run_assay(*TASK, "--hardware_type", "CPU", "--stability", "thorough")
        self.assert_refused(run, "quick, standard, deep", "repeat")
