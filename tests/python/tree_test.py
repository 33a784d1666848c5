"""The root that vendor code works in: what is in it, and what never leaves it."""
import os
import pathlib
import sys
import unittest
import unittest.mock

import support

sys.path.insert(0, str(support.PACKAGE))
from assay_host.tree import Tree, enclosing  # noqa: E402


class Root(support.Case):
    def setUp(self):
        super().setUp()
        self.vendor = self.temp / "HW"
        (self.vendor / "passes").mkdir(parents=True)
        (self.vendor / "passes" / "fuse.py").write_text("pass\n")
        (self.vendor / "__pycache__").mkdir()
        (self.vendor / "__pycache__" / "old.pyc").write_bytes(b"x")
        with open(self.vendor / "weights.bin", "wb") as file:
            file.truncate(5 << 20)  # larger than a source is
        self.scratch = self.temp / "scratch"
        self.scratch.mkdir()
        self.tree = Tree(str(self.scratch), str(self.vendor), "HW")
        self.tree.make()

    def path(self, *parts):
        return os.path.join(self.tree.root, *parts)

    def test_the_vendors_folder_is_copied_and_what_is_large_is_linked(self):
        backend = self.path("general_perf", "backends", "HW")
        self.assertEqual(sorted(os.listdir(backend)), ["passes", "weights.bin"])
        self.assertFalse(os.path.islink(os.path.join(backend, "passes", "fuse.py")))
        self.assertTrue(os.path.islink(os.path.join(backend, "weights.bin")))
        with open(os.path.join(backend, "passes", "fuse.py"), "w") as file:
            file.write("changed")
        self.assertEqual((self.vendor / "passes" / "fuse.py").read_text(), "pass\n")

    def test_older_places_lead_to_the_new_ones(self):
        for old in ("byte_mlperf/backends/CPU/CPU.json", "backends/CPU/CPU.json", "general_perf/backends/CPU/CPU.json"):
            with open(self.path(old)) as file:
                self.assertEqual(file.read(), "[]\n")
        self.assertTrue(os.path.isdir(self.path("general_perf", "reports", "HW")))

    def test_a_vendors_own_CPU_folder_is_the_vendors(self):
        vendor = self.temp / "CPU"
        vendor.mkdir()
        (vendor / "CPU.json").write_text("[1]")
        tree = Tree(str(self.scratch), str(vendor), "CPU")
        tree.make()
        with open(os.path.join(tree.root, "general_perf/backends/CPU/CPU.json")) as file:
            self.assertEqual(file.read(), "[1]")

    def test_files_of_the_task_are_named_by_the_model(self):
        self.tree.write_inputs({"model": "m"}, {"model": "../../m", "inputs": "x"})
        self.assertTrue(os.path.exists(self.path("general_perf", "model_zoo", "m.json")))
        self.assertTrue(os.path.exists(self.path("general_perf", "workloads", "m.json")))

    def test_a_model_that_is_a_folder(self):
        saved = self.temp / "zoo" / "saved"
        (saved / "variables").mkdir(parents=True)
        (saved / "variables" / "data").write_text("weights")
        placed = self.path(self.tree.place_model(str(saved)))
        with open(os.path.join(placed, "variables", "data")) as file:
            self.assertEqual(file.read(), "weights")
        os.mkdir(os.path.join(placed, "cache"))
        self.assertFalse((saved / "cache").exists())

    def test_models_of_one_name_are_two_models(self):
        for folder in ("a", "b"):
            (self.temp / folder).mkdir()
            (self.temp / folder / "m.onnx").write_text(folder)
        placed = [self.tree.place_model(str(self.temp / folder / "m.onnx")) for folder in ("a", "b")]
        self.assertEqual([pathlib.Path(self.path(path)).read_text() for path in placed], ["a", "b"])
        self.assertEqual(self.tree.place_model("no/such/model.onnx"), "no/such/model.onnx")

    def test_a_models_place_is_relative_and_has_no_dot_but_its_suffix(self):
        # Published paths are relative to the root: code goes back to it with "../../" or cuts at the dots.
        zoo = self.temp / "zoo.v1.2"
        zoo.mkdir()
        (zoo / "net-1.5.onnx").write_text("weights")
        placed = self.tree.place_model(str(zoo / "net-1.5.onnx"))
        folder, name = os.path.split(placed)
        self.assertEqual((name, os.path.isabs(folder), "." in folder), ("net-1.5.onnx", False, False))
        self.assertEqual(folder.split("/")[:2], ["general_perf", "model_zoo"])
        self.assertEqual(pathlib.Path(self.path(placed)).read_text(), "weights")

    def test_what_another_process_left_can_be_taken_over(self):
        other = Tree(str(self.scratch), str(self.vendor), "HW")
        other.make()
        os.makedirs(os.path.join(other.root, "general_perf", "compiled", "4"))
        with open(os.path.join(other.root, "general_perf", "compiled", "4", "m.bin"), "w") as file:
            file.write("compiled")
        self.assertNotEqual(other.root, self.tree.root)
        self.tree.take_over(other.root)
        with open(self.path("general_perf", "compiled", "4", "m.bin")) as file:
            self.assertEqual(file.read(), "compiled")

    def test_prepared_files_are_found_and_stay_as_they_are(self):
        package = self.temp / "there" / "general_perf"
        for part in ("download/sdk", "model_zoo", "datasets/open_set", "backends/HW"):
            (package / part).mkdir(parents=True)
        (package / "download" / "sdk" / "opt.yaml").write_text("level: 3\n")
        (package / "model_zoo" / "m.json").write_text('{"model": "theirs"}')
        (package / "datasets" / "open_set" / "vocab.txt").write_text("[PAD]\n")
        (package / "datasets" / "open_set" / "data_loader.py").write_text("raise SystemExit\n")
        for vendor, origin in ((package / "backends" / "HW", ""), (self.vendor, str(package.parent))):
            with unittest.mock.patch.dict(os.environ, {"ASSAY_PYTHON_ORIGIN": origin}):
                tree = Tree(str(self.scratch), str(vendor), "HW")
                tree.make()
            root = pathlib.Path(tree.root)
            self.assertEqual((root / "general_perf/download/sdk/opt.yaml").read_text(), "level: 3\n")
            self.assertTrue((root / "general_perf/datasets/open_set/vocab.txt").exists())
            self.assertFalse((root / "general_perf/datasets/open_set/data_loader.py").exists())
            tree.write_inputs({"model": "m"}, {"model": "m"})
            (root / "general_perf/download/sdk/opt.yaml").write_text("changed")
        self.assertEqual((package / "model_zoo" / "m.json").read_text(), '{"model": "theirs"}')
        self.assertEqual((package / "download" / "sdk" / "opt.yaml").read_text(), "level: 3\n")

    def test_a_folder_that_is_part_of_a_checkout(self):
        self.assertEqual(enclosing("/x/general_perf/backends/HW"), ["/x/general_perf"])
        self.assertEqual(enclosing("/x/backends/HW"), [])


if __name__ == "__main__":
    unittest.main()
