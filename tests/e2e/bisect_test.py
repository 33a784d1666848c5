"""assay bisect as a user types it. What it finds in which model: tests/bisect."""
import json
import shlex
import signal
import subprocess

from support import ASSAY, ROOT, Case

TASK = ["--task", "fashion-mnist-cnn-onnx-fp32"]
WRONG = ["--hardware_type", "WRAPPER", "--set", "fault=wrong_operator",
         "--set", "fault_tensor=/8/Conv_output_0"]


class Bisect(Case):
    def bisect(self, *arguments, **environment):
        return self.assay("bisect", *arguments, **environment)

    def test_finding_and_its_one_line_command(self):
        run = self.bisect(*TASK, *WRONG, "--output", self.folder)
        self.assertEqual(run.returncode, 1, run.stderr + run.stdout)
        record = json.loads((self.folder / "bisect.json").read_text())
        finding = record["finding"]
        self.assertEqual(record["verdict"], "operator")
        self.assertEqual((finding["first"], finding["last"]), (6, 6))
        self.assertEqual(finding["operator"]["name"], "/8/Conv")
        self.assertEqual(finding["worst"]["tensor"], "/8/Conv_output_0")
        self.assertEqual(len(record["cuts"]), record["counts"]["tested_compilations"])
        for words in ('6 Conv "/8/Conv"', "this operator alone is wrong on right inputs",
                      "/8/Conv_output_0", finding["worst_index"], "tolerance",
                      f"{record['counts']['tested_compilations']} compilations on WRAPPER"):
            self.assertIn(words, run.stdout)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()),
                         ["bisect.json", "expected.tensors", "expected_0.npy", "got.tensors",
                          "got_0.npy", "input.tensors", "input_0.npy", "minimal.onnx"])

        command = record["repeat_command"]
        self.assertIn(command, run.stdout)
        words = shlex.split(command)
        self.assertTrue(words[0].startswith("ASSAY_BACKENDS="), words)
        self.assertEqual(words[1], "./assay")
        again = self.assay(*words[2:])
        self.assertEqual(again.returncode, 1, again.stderr + again.stdout)
        self.assertIn("still deviates", again.stdout)
        mended = self.assay("bisect", "--repeat", self.folder, "--hardware_type", "WRAPPER")
        self.assertEqual(mended.returncode, 0, mended.stderr + mended.stdout)
        self.assertIn("no longer deviates", mended.stdout)

    def test_healthy_backend(self):
        run = self.bisect(*TASK, "--hardware_type", "CPU", "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        record = json.loads(run.stdout)
        self.assertEqual(record["verdict"], "within")
        self.assertIsNone(record["repeat_command"])
        left = list((self.temp / "results" / TASK[1] / "CPU").iterdir())
        self.assertEqual([p.name.split("-")[0] for p in left], ["bisect"])
        self.assertEqual(json.loads((left[0] / "bisect.json").read_text()), record)

    def test_default_folder_is_the_same_for_the_same_search(self):
        for _ in range(2):
            run = self.bisect(*TASK, "--hardware_type", "CPU", "--sample", "3")
            self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(len(list((self.temp / "results" / TASK[1] / "CPU").iterdir())), 1)

    def test_another_search_leaves_a_finding_where_it_is(self):
        answers = self.temp / "answers.json"
        for given in ({}, {"graph_optimization": "none"}):
            answers.write_text(json.dumps(given))
            run = self.bisect(*TASK, "--hardware_type", "CPU", "--sample", "3", "--answers", answers)
            self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(len(list((self.temp / "results" / TASK[1] / "CPU").iterdir())), 2)

    def test_a_crash_is_a_finding(self):
        run = self.bisect(*TASK, "--hardware_type", "WRAPPER", "--set", "fault=crashing_operator",
                          "--set", "fault_tensor=/14/Gemm_output_0", "--output", self.folder)
        self.assertEqual(run.returncode, 1, run.stderr + run.stdout)
        self.assertIn('10 Gemm "/14/Gemm"', run.stdout)
        self.assertIn("crashed", run.stdout)

    def test_a_backend_that_hangs_is_timed(self):
        run = self.bisect("--model", ROOT / "model_zoo" / "fashion_mnist_cnn.onnx",
                          "--hardware_type", "FAULTY", "--timeout", "1", "--output", self.folder,
                          ASSAY_FAULT="compile:hang")
        self.assertEqual(run.returncode, 1, run.stderr + run.stdout)
        record = json.loads((self.folder / "bisect.json").read_text())
        self.assertEqual(record["finding"]["worker_outcome"], "timed_out")

    def test_wrong_requests_are_refused(self):
        (self.temp / "taken").mkdir()
        (self.temp / "taken" / "file").write_text("")
        for arguments, words in (
                ([*TASK, "--hardware_type", "NOSUCH"], ("NOSUCH",)),
                (["--task", "nosuch", "--hardware_type", "CPU"], ("nosuch",)),
                ([*TASK, "--hardware_type", "CPU", "--sample", "x"], ("--sample", '"x"')),
                ([*TASK, "--hardware_type", "CPU", "--set", "nosuch=1"], ("nosuch",)),
                ([*TASK, "--hardware_type", "CPU", "--output", self.temp / "taken"], ("not empty",)),
                (["--repeat", self.temp, "--hardware_type", "CPU"], ("bisect.json",)),
                (["--repeat", self.temp, "--hardware_type", "CPU", *TASK], ("--repeat", "--set"))):
            with self.subTest(arguments=arguments):
                run = self.bisect(*arguments)
                self.assertEqual(run.returncode, 2, run.stderr + run.stdout)
                for word in words:
                    self.assertIn(word, run.stderr)
        self.assertEqual([p.name for p in self.temp.iterdir()], ["taken"])

    def test_interruption_leaves_nothing(self):
        process = subprocess.Popen([ASSAY, "bisect", *TASK, *WRONG, "--output", self.folder],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=self.environment(), cwd=self.temp)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.wait_for_worker(process, "bisect-whole")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 130, err)
        self.assertEqual(list(self.temp.iterdir()), [])
