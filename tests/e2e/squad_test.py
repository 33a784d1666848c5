"""SQuAD, on a set of our own (tests/data/squad) and a model whose answers are known words."""
import json
import random
import shutil

from support import MODELS, ROOT, Case

OWN_SET = ROOT / "tests" / "data" / "squad"
INPUTS = ["input_ids", "attention_mask", "token_type_ids"]

# Worked out by hand from the words that the model scores (tests/data/models/generate.py): 8 of 24
# questions are answered exactly, one of them by a word that normalises to nothing and so has no F1,
# and five in part: 0.4, 2/3, 0.4, 2/3, 2/3.
EXACT_MATCH = 100 * 8 / 24
F1 = 100 * (7 + 0.4 + 2 / 3 + 0.4 + 2 / 3 + 2 / 3) / 24


WORDS = [word for word in (OWN_SET / "vocab.txt").read_text().split("\n") if word.isalpha() and len(word) > 2]


def large_set(questions):
    """The official form, of words that are one token each: what a window holds can be counted."""
    chosen = random.Random(5)
    paragraphs = []
    for number in range(0, questions, 5):
        words = chosen.choices(WORDS, k=chosen.randrange(50, 900))
        asked = []
        for question in range(number, number + 5):
            first = chosen.randrange(len(words) - 1)
            start = len(" ".join([*words[:first], ""]))
            asked.append({"id": f"q{question}", "question": f"what comes {words[first]}",
                          "answers": [{"answer_start": start, "text": " ".join(words[first:first + 2])}]})
        paragraphs.append({"context": " ".join(words), "qas": asked})
    return {"version": "1.1", "data": [{"title": "words", "paragraphs": paragraphs}]}


def windows_of(data, length, stride):
    """Of a set of such words: a window takes what is left of the length after the question and three marks."""
    count = 0
    for paragraph in data["data"][0]["paragraphs"]:
        words = len(paragraph["context"].split())
        for question in paragraph["qas"]:
            room = length - 3 - min(8, tokens(question["question"]))
            count += 1 + max(0, -(-(words - room) // stride))
    return count


def tokens(question):
    """Every word is in the vocabulary, or has no piece there and is one unknown token."""
    return len(question.split())


class SquadCase(Case):
    def make_root(self, metric="squad_f1", with_set=True, batch=5, length=24, stride=6, **workload):
        """A checkout with one task on the set."""
        root = self.temp / "root"
        shutil.rmtree(root, ignore_errors=True)
        for folder in ("workloads", "model_zoo", "datasets/open_squad"):
            (root / folder).mkdir(parents=True)
        if with_set:
            shutil.copy(OWN_SET / "dev-v1.1.json", root / "datasets/open_squad")
        shutil.copy(OWN_SET / "vocab.txt", root / "model_zoo")
        shutil.copy(MODELS / "answers.onnx", root / "model_zoo")
        model_info = {
            "name": "answers", "model_path": "answers.onnx", "framework": "Onnx", "model_format": "onnx",
            "model_precision": "FP32", "inputs": ",".join(INPUTS), "outputs": "start_logits,end_logits",
            "input_shape": {name: [1, length] for name in INPUTS}, "input_type": "INT64,INT64,INT64",
            "dataset_name": "squad", "max_batch_size": 64, "metric": {"name": metric},
            "preprocess": {"tokenizer": "wordpiece", "vocab": "vocab.txt", "lowercase": True,
                           "max_length": length, "doc_stride": stride, "max_query_length": 8}}
        (root / "model_zoo/answers.json").write_text(json.dumps(model_info))
        (root / "workloads/answers.json").write_text(json.dumps({
            "model": "answers", "test_perf": False, "test_stability": False, "batch_sizes": [batch],
            **workload}))
        return root

    def evaluate(self, root, name="run"):
        return self.run_assay("--task", "answers", "--hardware_type", "CPU",
                              folder=self.temp / name, ASSAY_ROOT=str(root))


class SquadRefused(SquadCase):
    """What is wrong with the user's own copy is said before anything is run."""

    def refuse(self, *words):
        run = self.evaluate(self.root)
        self.assert_refused(run, *words)

    def setUp(self):
        super().setUp()
        self.root = self.make_root()
        self.file = self.root / "datasets/open_squad/dev-v1.1.json"

    def test_no_copy(self):
        self.file.unlink()
        self.refuse("put dev-v1.1.json", "rajpurkar.github.io/SQuAD-explorer",
                    str(self.root / "datasets/open_squad"))

    def test_a_file_that_is_cut(self):
        self.file.write_text(self.file.read_text()[:2000])
        self.refuse("dev-v1.1.json", "no JSON")

    def test_version_2(self):
        self.file.write_text(self.file.read_text().replace('"version": "1.1"', '"version": "v2.0"'))
        self.refuse("SQuAD v2.0", "accepted is v1.1")

    def test_an_answer_at_another_place(self):
        data = json.loads(self.file.read_text())
        data["data"][0]["paragraphs"][0]["qas"][1]["answers"][0]["answer_start"] += 1
        self.file.write_text(json.dumps(data))
        self.refuse('question "p00q1", answers[0]', '"1804"', '"804."')


class FetchedSquad(SquadCase):
    """With the tokenizer, which is fetched."""

    def setUp(self):
        super().setUp()
        fetched = self.assay("fetch", "minilm-sentiment-onnx-w8")
        self.assertEqual(fetched.returncode, 0, fetched.stderr + fetched.stdout)

    def test_figures_are_of_questions_whatever_the_batch(self):
        for batch in (1, 7, 64):
            with self.subTest(batch=batch):
                run = self.evaluate(self.make_root(batch=batch), f"run{batch}")
                self.assert_complete(run)
                accuracy = run.result["accuracy"]
                self.assertEqual((accuracy["metric"], accuracy["n"]), ("squad_f1", 24))
                self.assertAlmostEqual(accuracy["value"], F1, 9)
                self.assertAlmostEqual(accuracy["extra"]["exact_match"], EXACT_MATCH, 9)
                legacy = run.result["Accuracy"]
                self.assertAlmostEqual(legacy["F1 Score"], F1, 9)
                self.assertAlmostEqual(legacy["Exact Match"], EXACT_MATCH, 9)
                self.assertEqual(run.code, 0, run.out + run.err)

    def test_a_set_of_real_size(self):
        """As many questions as the official set has: every window is there, and they are not held in memory."""
        root = self.make_root(length=384, stride=128)
        file = root / "datasets/open_squad/dev-v1.1.json"
        file.write_text(json.dumps(large_set(10000)))
        expected = windows_of(json.loads(file.read_text()), 384, 128)
        run = self.evaluate(root)
        self.assert_complete(run)
        self.assertEqual(run.code, 0, run.out + run.err)
        self.assertEqual(run.result["accuracy"]["n"], 10000)
        compared = {row["output"]: (row["samples"], row["elements"]) for row in run.result["numeric"]}
        self.assertEqual(compared, dict.fromkeys(["start_logits", "end_logits"], (expected, 384 * expected)))
        for name in ("reference", "accuracy"):
            self.assertLess(run.phase(name)["peak_rss_bytes"] or 0, 512 << 20)

    def test_a_share_of_the_samples_holds_whole_questions(self):
        # The first question has two windows, of which one per cent is the first.
        run = self.evaluate(self.make_root(metric="exact_match", data_percent=1))
        accuracy = run.result["accuracy"]
        self.assertEqual((accuracy["n"], accuracy["value"]), (1, 100))

    def test_a_floor_is_in_per_cent(self):
        criteria = {"accuracy": {"min": 30, "min_relative": 0.5}}
        run = self.evaluate(self.make_root(metric="exact_match", criteria=criteria))
        judged = run.result["accuracy"]["judged"]
        self.assertIn("exact_match at least 30", [row["criterion"] for row in judged])
        self.assert_refused(self.evaluate(self.make_root(metric="exact_match", criteria={
            "accuracy": {"min": 101}}), "refused"), "from 0 to 100")
