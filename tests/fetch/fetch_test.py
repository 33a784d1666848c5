"""Tests of tools/fetch that need no network."""
import contextlib
import hashlib
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "fetch"
sys.path[:0] = [str(TOOL), str(TOOL / "recipes")]
# pylint: disable=wrong-import-position
import bert_vocab  # noqa: E402
import fetch  # noqa: E402
import sentiment_data  # noqa: E402
import tokenizer  # noqa: E402
from common import Failed, Workplace, digest_of  # noqa: E402

# Copies its input and leaves a mark in the log folder each time it runs.
COPY = """
import pathlib, shutil, sys
out, source, *_ = map(pathlib.Path, sys.argv[1:])
(pathlib.Path(__file__).parent / "runs").open("a").write("x")
shutil.copyfile(source, out)
"""
SOURCE_TEXT = "content of the source\n"


class FetcherTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="fetch test ä ")
        self.addCleanup(scratch.cleanup)
        folder = pathlib.Path(scratch.name)
        self.home = folder / "home"
        (self.home / "recipes").mkdir(parents=True)
        (self.home / "recipes" / "copy.py").write_text(COPY)
        self.place = Workplace(folder / "cache", folder / "checkout", self.home)
        (self.place.downloads / "source.txt").write_text(SOURCE_TEXT)
        self.product = {"about": "a copy", "recipe": "copy.py", "from": ["source:text"],
                        "sha256": hashlib.sha256(SOURCE_TEXT.encode()).hexdigest()}
        self.manifest = {
            "tasks": {"copy-task": ["models/copy.txt"], "checkout-task": ["checkout/datasets/x"]},
            "products": {"models/copy.txt": self.product},
            "sources": {"text": {"file": "source.txt", "sha256": self.product["sha256"],
                                 "client": "none", "package": "p", "version": "1",
                                 "megabytes": 1}},
        }
        self.made = self.place.cache / "models" / "copy.txt"

    def fetch(self, task="copy-task"):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            fetch.Fetcher(self.manifest, self.place).fetch_task(task)
        return output.getvalue()

    def runs(self):
        marks = self.home / "recipes" / "runs"
        return len(marks.read_text()) if marks.exists() else 0

    def test_makes_the_product_once(self):
        self.assertIn("making models/copy.txt", self.fetch())
        self.assertEqual(self.made.read_text(), SOURCE_TEXT)
        self.assertEqual(self.fetch(), "")
        self.assertEqual(self.runs(), 1)

    def test_makes_a_damaged_product_again(self):
        self.fetch()
        self.made.write_text("damaged")
        self.assertIn("was changed", self.fetch())
        self.assertEqual(self.made.read_text(), SOURCE_TEXT)

    def test_makes_it_again_when_the_recipe_changed(self):
        self.fetch()
        (self.home / "recipes" / "copy.py").write_text(COPY + "\n")
        self.fetch()
        self.assertEqual(self.runs(), 2)

    def test_a_product_of_another_digest_is_not_kept(self):
        self.product["sha256"] = "0" * 64
        with self.assertRaisesRegex(Failed, "expected sha256 0000"):
            self.fetch()
        self.assertFalse(self.made.exists())
        self.assertEqual(list(self.place.scratch.iterdir()), [])

    def test_a_failing_recipe_shows_the_end_of_its_log_and_leaves_nothing(self):
        (self.home / "recipes" / "copy.py").write_text("raise SystemExit('no such layer')")
        with self.assertRaisesRegex(Failed, r"(?s)the log is .*no such layer"):
            self.fetch()
        self.assertFalse(self.made.exists())
        self.assertEqual(list(self.place.scratch.iterdir()), [])

    def test_what_a_killed_run_left_is_removed_and_nothing_else(self):
        for name in ("fetch-x", "tokenizer-x", "run-1"):
            (self.place.scratch / name / "target").mkdir(parents=True)
        fetch.remove_leftovers(self.place)
        self.assertEqual([each.name for each in self.place.scratch.iterdir()], ["run-1"])

    def test_what_belongs_to_the_checkout_is_named(self):
        with self.assertRaisesRegex(Failed, "git checkout -- datasets/x"):
            self.fetch("checkout-task")

    def test_a_folder_product_replaces_the_old_one_whole(self):
        (self.home / "recipes" / "copy.py").write_text(
            "import pathlib, sys\np = pathlib.Path(sys.argv[1])\np.mkdir()\n"
            "(p / 'a').write_text('a')\n")
        del self.product["sha256"]
        self.made.mkdir(parents=True)
        (self.made / "old").write_text("old")
        self.fetch()
        self.assertEqual([each.name for each in self.made.iterdir()], ["a"])


class CommandTest(unittest.TestCase):
    def test_an_unknown_task_suggests_the_nearest_and_exits_with_2(self):
        with tempfile.TemporaryDirectory() as cache:
            result = subprocess.run([sys.executable, "-B", TOOL / "fetch.py", "--cache", cache,
                                     "resnet50-onnx-fp23"], capture_output=True, text=True,
                                    check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn('did you mean "resnet50-onnx-fp32"?', result.stderr)


    def test_json_is_all_that_standard_output_gets(self):
        task = "fashion-mnist-cnn-onnx-fp32"  # needs nothing but the checkout
        with tempfile.TemporaryDirectory() as cache:
            result = subprocess.run([sys.executable, "-B", TOOL / "fetch.py", "--cache", cache,
                                     "--json", task], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["task"], task)
        self.assertIn("everything is there", result.stderr)


class ManifestTest(unittest.TestCase):
    manifest = json.loads((TOOL / "tasks.json").read_text())

    def test_every_workload_is_a_task_and_every_task_a_workload(self):
        workloads = {path.stem for path in (ROOT / "workloads").glob("*.json")}
        self.assertEqual(workloads, set(self.manifest["tasks"]))

    def test_names_lead_somewhere(self):
        for steps in self.manifest["tasks"].values():
            for step in steps:
                if step.startswith(fetch.CHECKOUT):
                    self.assertTrue((ROOT / step[len(fetch.CHECKOUT):]).exists(), step)
                elif step != fetch.TOKENIZER:
                    self.assertIn(step, self.manifest["products"])
        for name, product in self.manifest["products"].items():
            self.assertTrue((TOOL / "recipes" / product["recipe"]).exists(), name)
            if "environment" in product:
                self.assertIn(product["environment"], self.manifest["environments"])
            for text in product["from"]:
                kind, _, source = text.partition(":")
                known = {"source": self.manifest["sources"], "product": self.manifest["products"]}
                self.assertTrue(source in known[kind] if kind in known else (TOOL / source).exists())

    def test_models_that_model_info_names_are_products_of_its_task(self):
        for path in (ROOT / "model_zoo").glob("*.json"):
            text = path.read_text()
            for name in re.findall(r'"fetched:([^"]+)"', text):
                self.assertIn("models/" + name, self.manifest["tasks"][path.stem], path.name)


class DigestTest(unittest.TestCase):
    def test_a_folder_is_its_names_and_contents(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "a").write_text("1")
            first = digest_of(folder)
            (folder / "a").rename(folder / "b")
            self.assertNotEqual(digest_of(folder), first)
            (folder / "b").rename(folder / "a")
            self.assertEqual(digest_of(folder), first)

    def test_the_tokenizer_is_named_by_its_sources(self):
        self.assertRegex(tokenizer.identity(ROOT), "^[0-9a-f]{12}$")


class RecipeTest(unittest.TestCase):
    def test_the_shuffle_is_numpys_legacy_one(self):
        # numpy.random.RandomState(0).permutation(10), and the same again from the same generator.
        shuffle = sentiment_data.LegacyNumpyRandom(0)
        self.assertEqual(shuffle.permutation(10), [2, 8, 4, 9, 1, 6, 7, 3, 0, 5])
        self.assertEqual(shuffle.permutation(10), [3, 5, 1, 2, 9, 8, 0, 6, 7, 4])

    def test_word_marks_become_continuation_marks(self):
        self.assertEqual([bert_vocab.bert_form(i, token) for i, token in
                          enumerate(["[PAD]", "\u2581", "[unused1]", "\u2581house", "ing", "[x]"])],
                         ["[PAD]", "[unused0]", "[unused1]", "house", "##ing", "##[x]"])


if __name__ == "__main__":
    unittest.main()
