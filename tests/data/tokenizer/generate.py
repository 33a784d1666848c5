#!/usr/bin/env python3
"""Writes golden.json: token ids of hard texts by BERT's own tokenizer, for src/dataset's tests.

    python3 -m venv /tmp/bert && /tmp/bert/bin/pip install transformers==4.57.6
    /tmp/bert/bin/python tests/data/tokenizer/generate.py VOCAB.txt

The oracle is the pure Python one (BertTokenizer), not the library that Assay uses.
"""
import json
import pathlib
import sys

from transformers import BertTokenizer

MAX_LENGTH = 64
TEXTS = [
    "", " ", "Hello world, tokenization isn't trivial: naïve café.", "UPPER lower MiXeD",
    "don't can't won't 'quoted' \"double\"", "a.b.c...d!?;:--e", "$9.99 is 50% of £20 and €18",
    "email@example.com http://x.org/a_b?c=d&e=f", "antidisestablishmentarianism",
    "xyzzyqwertyuiopasdfghjkl", "x" * 99, "x" * 101, "日本語とEnglishの混在", "Москва и Санкт-Петербург",
    "ελληνικά Ά έ ΰ", "naïve naïve I\u0307stanbul ıİ", "emoji 😀 and 👩‍👩‍👧 here", "tab\tnew\nline\r\nend",
    "zero\u200bwidth soft\u00adhyphen non\u00a0breaking", "control \u0001\u0007 chars \ufffd replacement",
    "ﬁne ﬂow ½ ² ™ …", "[CLS] not special? [MASK] [SEP] [UNK]", "한국어 토큰", "straße ŁÓDŹ ø Æ", "a\u0301e\u0300 combined",
    "the quick brown fox jumps over the lazy dog " * 8,
]


def main(vocab):
    tokenizers = {"lower": BertTokenizer(vocab, do_lower_case=True),
                  "cased": BertTokenizer(vocab, do_lower_case=False)}
    cases = []
    for text in TEXTS:
        ids = {name: tokenizer(text, max_length=MAX_LENGTH, truncation=True)["input_ids"]
               for name, tokenizer in tokenizers.items()}
        cases.append({"text": text, **ids})
    rows = ",\n".join("  " + json.dumps(case) for case in cases)
    path = pathlib.Path(__file__).parent / "golden.json"
    path.write_text(f'{{"max_length": {MAX_LENGTH}, "cases": [\n{rows}\n]}}\n')


if __name__ == "__main__":
    main(*sys.argv[1:])
