"""Vendor folders in General Perf's own layout, run with nothing in them edited."""
import pathlib
import shutil

from python_backend_test import FEW, PYTHON, TASK, PythonCase
from support import ROOT

TREE = ROOT / "tests" / "published_tree"
BACKENDS = TREE / "general_perf" / "backends"
OWN_SIZE = ("SPARSE", "TOOLED")  # load their own batch, whatever is asked for


class PublishedTree(PythonCase):
    def run_published(self, hardware, *arguments, backends=BACKENDS, **environment):
        return self.run_assay(*TASK, "--hardware_type", hardware, "--backend_path", backends, "--python", PYTHON,
                              *FEW, *arguments, **{"PYTHONPATH": str(TREE / "sdk"),
                                                   "TWODIES_USER": "set by the user", **environment})

    def check(self, hardware):
        run = self.run_published(hardware)
        self.assert_complete(run)
        self.assertEqual({*self.outcomes(run).values()} - {"skipped"}, {"ok"}, run.out + run.err)
        self.assertEqual(run.result["accuracy"]["value"], self.expected().result["accuracy"]["value"])
        return run, run.result["vendor_claim"]

    def expected(self):
        """The same weights in the guide's form."""
        return self.run_assay(*TASK, "--hardware_type", "GUIDE", "--backend_path", ROOT / "tests" / "backends_python",
                              "--python", PYTHON, *FEW, "--batch_sizes", "1", folder=self.temp / "expected")

    def notes(self, run):
        return " ".join(run.result["notes"])

    def test_packed(self):
        run, claims = self.check("PACKED")
        self.assertEqual([row["batch_size"] for row in run.result["performance"]], [2, 4])
        self.assertEqual([claim["batch_size"] for claim in claims], [2, 4])
        self.assertEqual(run.result["provenance"]["backend"]["version"], "packed-1.4")

    def test_sparse(self):
        run, claims = self.check("SPARSE")
        for claim in claims:
            self.assertEqual(claim["batch_size"], 4)
            self.assertAlmostEqual(claim["values"]["latency_mean_ms"], claim["raw"]["AVG Latency"] * 1000)

    def test_oldcard(self):
        run, claims = self.check("OLDCARD")
        self.assertTrue(claims)

    def test_graphx(self):
        run, claims = self.check("GRAPHX")
        self.assertEqual(claims[0]["values"]["qps"], 2000)

    def test_twodies(self):
        run, claims = self.check("TWODIES")
        self.assertEqual(claims[0]["raw"]["predict QPS"], 2001)
        self.assertIn("converted to FLOAT32", self.notes(run))

    def test_frames(self):
        run, claims = self.check("FRAMES")
        self.assertNotIn("latency_p99_ms", claims[0]["values"])
        self.assertAlmostEqual(claims[0]["values"]["latency_mean_ms"], claims[0]["raw"]["AVG Latency"] * 1000)

    def test_tooled(self):
        run, claims = self.check("TOOLED")
        self.assertEqual(claims[0]["values"]["latency_mean_ms"], 8.0)

    def test_every_folder_has_a_test(self):
        tested = {name[len("test_"):].upper() for name in dir(self) if name.startswith("test_")}
        self.assertEqual({folder.name for folder in BACKENDS.iterdir() if folder.is_dir()} - tested, set())

    def test_prepared_files_where_the_command_is_given_and_a_relative_path_to_the_sdk(self):
        shutil.copytree(TREE / "general_perf" / "download", self.temp / "general_perf" / "download")
        shutil.copytree(BACKENDS / "SPARSE", self.temp / "vendor" / "SPARSE")
        shutil.copytree(TREE / "sdk", self.temp / "sdk")
        run = self.run_published("SPARSE", "--compile_only", backends=pathlib.Path("vendor"), PYTHONPATH="sdk")
        self.assert_complete(run)
        self.assertEqual(run.phase("compile")["outcome"], "ok", run.phase("compile"))

    def test_a_prepared_file_that_is_missing_is_named(self):
        shutil.copytree(BACKENDS / "SPARSE", self.temp / "vendor" / "SPARSE")
        reason = self.run_published("SPARSE", backends=self.temp / "vendor").phase("compile")["reason"]
        for words in ("general_perf/download/sparse/options.yaml", "compile_backend_sparse.py:"):
            self.assertIn(words, reason)

    def test_nothing_is_written_into_the_tree(self):
        def files():
            return {str(path): path.stat().st_mtime_ns for path in TREE.rglob("*")}

        before = files()
        self.run_published("PACKED", "--compile_only")
        self.assertEqual(files(), before)
