#!/usr/bin/env python3
"""Writes dev-v1.1.json and vocab.txt beside itself: questions of our own, in the form of SQuAD v1.1.

The answers' offsets are found here, so that the texts can be edited. What each paragraph is a trap
for is said beside it. The vocabulary is every word of the texts, split where a "##" says so, and the
letters, with which anything else is spelled.
"""
import json
import pathlib
import re
import unicodedata

# (context, [(question, [answers...])...]); an answer "text@2" is its second occurrence.
PARAGRAPHS = [
    # Several true answers, articles, capitals.
    ("The old mill stands by the River Tarn. A miller named Ada Brook built the mill in 1804.",
     [("Who built the mill?", ["Ada Brook", "A miller named Ada Brook", "miller named Ada Brook"]),
      ("When was it built?", ["1804", "in 1804"]),
      ("Where does it stand?", ["by the River Tarn", "the River Tarn"])]),
    # Punctuation inside and at the ends of answers.
    ("Dr. Kim's report (no. 7-B) cost $1,250.50; it wasn't read until 5 p.m. on Friday.",
     [("What did the report cost?", ["$1,250.50", "1,250.50"]),
      ("Which number has the report?", ["7-B", "no. 7-B"]),
      ("When was it read?", ["5 p.m. on Friday", "Friday"])]),
    # Accents, composed and not: the vocabulary has them stripped.
    ("Zoë Müller ate a crème brûlée at the cafe\u0301 in Besançon.",
     [("Who ate?", ["Zoë Müller"]),
      ("Where did she eat?", ["cafe\u0301", "the cafe\u0301"]),
      ("What did she eat?", ["crème brûlée", "a crème brûlée"])]),
    # CJK: every character is a word, and no spaces.
    ("東京塔1958年完成。 The tower in 東京 is red.",
     [("What year?", ["1958年", "1958"]),
      ("Which colour has the tower?", ["red"]),
      ("Where is the tower?", ["東京@2"])]),
    # Characters outside of the basic plane, a no-break space, a soft hyphen and a zero-width space.
    ("The 🦊 and the 🐻 ran\u00a0away at the tea\u00adhouse; a\u200bflag was left.",
     [("Who ran with the 🐻?", ["🦊", "The 🦊"]),
      ("What was left?", ["flag", "a\u200bflag"])]),
    # A word in pieces, of which the answer is the whole.
    ("Lamplighters and bookbinders met in lamphouses. Bookbinders left.",
     [("Who met bookbinders?", ["Lamplighters"]),
      ("Who left?", ["Bookbinders", "bookbinders"])]),
    # Three windows and more; the answer is at the end of the last.
    ("one red stone two red stones three red stones four red stones five red stones six red stones "
     "seven red stones eight red stones nine red stones ten red stones and one blue pearl",
     [("What is blue?", ["pearl", "blue pearl", "one blue pearl"]),
      ("What comes after nine?", ["ten red stones", "ten"])]),
    # An answer across the border of the first window, whole in the second.
    ("after lunch one warm day we walked far over green hills under white clouds until long golden "
     "evening light fell on town",
     [("What fell?", ["long golden evening light", "golden evening light"])]),
    # The same words twice: offsets tell them apart.
    ("north wind and south wind; north wind won.",
     [("Which won?", ["north wind@2", "wind@3"])]),
    # Truth that normalises to nothing.
    ("The letter that comes first is: a.",
     [("Which letter comes first?", ["a."])]),
    # White space of every kind in the text.
    ("  Two\tships\n\nsailed   to\r\nthe port .",
     [("How many ships?", ["Two"]),
      ("Where to?", ["the port", "port"])]),
    # A question longer than what is kept of one.
    ("Short text.",
     [("Which of these two words, of all words that were ever written in any long book, is short?",
       ["Short"])]),
]

# Longer words as pieces of the vocabulary.
PIECES = {"lamplighters": ["lamp", "##light", "##ers"], "bookbinders": ["book", "##bind", "##ers"],
          "lamphouses": ["lamp", "##house", "##s"], "stones": ["stone", "##s"]}
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def find(context, answer):
    text, _, which = answer.partition("@")
    start = -1
    for _ in range(int(which or 1)):
        start = context.index(text, start + 1)
    return {"text": text, "answer_start": start}


def words(text):
    plain = unicodedata.normalize("NFD", text.lower())
    return re.findall(r"[a-z]+|[0-9]+", "".join(c for c in plain if unicodedata.category(c) != "Mn"))


def main():
    folder = pathlib.Path(__file__).parent
    paragraphs, vocabulary = [], {}
    for i, (context, questions) in enumerate(PARAGRAPHS):
        qas = []
        for k, (question, answers) in enumerate(questions):
            qas.append({"id": f"p{i:02}q{k}", "question": question,
                        "answers": [find(context, answer) for answer in answers]})
            for word in words(context + " " + question):
                vocabulary.update(dict.fromkeys(PIECES.get(word, [word])))
        paragraphs.append({"context": context, "qas": qas})
    data = {"version": "1.1", "data": [{"title": "Own words", "paragraphs": paragraphs[:6]},
                                       {"title": "More of them", "paragraphs": paragraphs[6:]}]}
    (folder / "dev-v1.1.json").write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n")
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)] + list("0123456789")
    marks = list("!\"$%&'()*+,-./:;?@") + ["。"] + list("東京塔年完成")
    tokens = dict.fromkeys(SPECIALS + marks + letters + ["##" + c for c in letters] + list(vocabulary))
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")
    print(f"{sum(len(q) for _, q in PARAGRAPHS)} questions, {len(tokens)} tokens")


if __name__ == "__main__":
    main()
