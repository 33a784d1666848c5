"""A backend that runs a model of its device: nothing that it says is shown as the device's."""
import shutil
import unittest

from python_backend_test import FEW, PYTHON, TASK, VENDORS, has_numpy
from support import Case

COMPILE = """
class CompileBackendMODEL(CompileBackendGUIDE):
    def compile(self, configs, dataloader=None):
        result = super().compile(configs, dataloader)
        result.update(simulated=True, modelled={
            "device": "a chip of paper", "checked_against": "Held against nothing.",
            "figures": [{"name": "time of a call", "value": 1500, "unit": "ns"}]})
        return result
"""


@unittest.skipUnless(has_numpy(PYTHON), "there is no Python with NumPy; tools/setup --test brings one")
class Simulated(Case):
    def setUp(self):
        super().setUp()
        folder = self.temp / "vendor" / "MODEL"
        shutil.copytree(VENDORS / "GUIDE", folder)
        for kind in ("compile", "runtime"):
            old = folder / f"{kind}_backend_guide.py"
            text = old.read_text()
            text = text + COMPILE if kind == "compile" else text.replace("GUIDE", "MODEL")
            (folder / f"{kind}_backend_model.py").write_text(text)
            old.unlink()
        (folder / "GUIDE.json").rename(folder / "MODEL.json")

    def evaluate(self, hardware, folder):
        run = self.run_assay(*TASK, "--hardware_type", hardware, "--backend_path", folder, "--python", PYTHON, *FEW,
                             "--stability", "repeat=2", "--batch_sizes", "1,4", folder=self.temp / hardware)
        self.assert_complete(run)
        return run

    def test_every_figure_is_marked(self):
        run = self.evaluate("MODEL", self.temp / "vendor")
        result = run.result
        marked = [result, result["compile"], result["accuracy"], *result["numeric"], *result["stability"],
                  *result["performance"], *result["vendor_claim"], *result["Performance"]]
        self.assertTrue(all(each["simulated"] is True for each in marked), marked)
        self.assertGreaterEqual(len(result["performance"]), 2)
        for row in result["Performance"]:
            self.assertEqual((row["QPS"], row["AVG Latency"], row["P99 Latency"]), (None, None, None))
        for words in ("on MODEL (simulated)", "Modelled, not measured: a chip of paper. Held against nothing.",
                      "1.500 µs", "Times of the simulation on this host, not of the device"):
            self.assertIn(words, run.out)
        page = (run.folder / "report.html").read_text()
        for words in ("No MODEL ran.", "Estimated, not measured. Held against nothing.", "of the simulation"):
            self.assertIn(words, page)
        for words in ("Highest rate", "Lowest latency"):
            self.assertNotIn(words, page)

    def test_a_backend_that_says_nothing_is_not_marked(self):
        run = self.evaluate("GUIDE", VENDORS)
        self.assertNotIn("simulated", (run.folder / "result.json").read_text())
        self.assertIn("Highest rate", (run.folder / "report.html").read_text())
