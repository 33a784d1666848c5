#!/usr/bin/env python3
"""Writes golden.json beside itself: what an independent implementation makes of dev-v1.1.json.

    python3 -m venv /tmp/bert && /tmp/bert/bin/pip install transformers==4.57.6
    /tmp/bert/bin/python tests/data/squad/generate.py

Windows: BERT's own conversion of examples to features with the pure Python tokenizer. Scores: the
published definition for texts, as `transformers` has it. That is SQuAD v2.0's, which is v1.1's but
where a side normalises to nothing: those pairs are left out here, and are cases of answer_test.cc.
"""
import json
import pathlib

from transformers import BertTokenizer
from transformers.data.metrics import squad_metrics
from transformers.data.processors import squad

WINDOW = {"max_length": 24, "doc_stride": 6, "max_query_length": 8}
# What is held against every true answer, beside the true answers of all questions.
PREDICTIONS = ["The mill", "ADA  BROOK!", "river", "1250.50", "7B", "p.m. Friday, at 5", "creme brulee",
               "Zoë", "1958", "東京", "東京 is", "🦊", "a flag was left", "red stones ten red", "pearl, blue",
               "an evening light", "wind north", "Two", "ÉCOLE", "the—port", "\u201cport\u201d", "ＰＯＲＴ",
               "ΟΔΟΣ", "a\u00a0port", "town hall of the town"]


def windows(folder, tokenizer):
    squad.squad_convert_example_to_features_init(tokenizer)
    examples = squad.SquadV1Processor().get_dev_examples(str(folder), "dev-v1.1.json")
    rows = {}
    for example in examples:
        features = squad.squad_convert_example_to_features(
            example, max_seq_length=WINDOW["max_length"], doc_stride=WINDOW["doc_stride"],
            max_query_length=WINDOW["max_query_length"], padding_strategy="max_length",
            is_training=False)
        rows[example.qas_id] = [[f.input_ids, f.attention_mask, f.token_type_ids] for f in features]
    return rows


def scores(data):
    truths = [a["text"] for article in data["data"] for p in article["paragraphs"]
              for q in p["qas"] for a in q["answers"]]
    rows = []
    for truth in dict.fromkeys(truths):
        for text in dict.fromkeys(PREDICTIONS + truths):
            if not squad_metrics.normalize_answer(truth) or not squad_metrics.normalize_answer(text):
                continue
            f1 = squad_metrics.compute_f1(truth, text)
            if f1 > 0:
                rows.append([truth, text, squad_metrics.compute_exact(truth, text), f1])
    return rows


def main():
    folder = pathlib.Path(__file__).parent
    data = json.loads((folder / "dev-v1.1.json").read_text())
    texts = PREDICTIONS + [a["text"] for article in data["data"] for p in article["paragraphs"]
                           for q in p["qas"] for a in q["answers"]]
    golden = {"window": WINDOW, "windows": windows(folder, BertTokenizer(str(folder / "vocab.txt"))),
              "normalized": [[t, squad_metrics.normalize_answer(t)] for t in dict.fromkeys(texts)],
              "scores": scores(data)}
    lines = ",\n".join(f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
                       for key, value in golden.items())
    (folder / "golden.json").write_text("{\n" + lines + "\n}\n")
    print(f"{sum(map(len, golden['windows'].values()))} windows, {len(golden['scores'])} pairs")


if __name__ == "__main__":
    main()
