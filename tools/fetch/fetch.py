#!/usr/bin/env python3
"""Gets and builds what a task needs and the checkout does not hold: `assay fetch TASK`.

tasks.json says what: a task is a list of products; a product is a file or folder in the user's
cache, made by a recipe (a script in recipes/) from sources, other products and files beside this
one; a source is one file of one pinned package, checked by SHA-256. `checkout/...` names what must be
in the checkout already; `tokenizer` is the tokenizer library, built from src/dataset/tokenizer.

Everything is made in a scratch folder and renamed into place, so an interrupted run leaves nothing
half made; what is done is not done again, and then nothing touches the network. Python 3.9, standard
library only. Exit codes: 0, 2 for an unknown task, 3 when something failed, 130 when interrupted.
"""
import argparse
import difflib
import fcntl
import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
# pylint: disable=wrong-import-position
import clients  # noqa: E402
import tokenizer  # noqa: E402
from common import Failed, Workplace, default_cache, digest_of, say, text_digest  # noqa: E402

CHECKOUT = "checkout/"
TOKENIZER = "tokenizer"
SCRATCH_FOLDERS = ("fetch-*", "download-*", "tokenizer-*")


class Fetcher:
    """Makes products. `manifest` is the content of tasks.json, `place` the folders."""

    def __init__(self, manifest, place):
        self.manifest = manifest
        self.place = place

    def fetch_task(self, task):
        for step in self.manifest["tasks"][task]:
            if step.startswith(CHECKOUT):
                self.check_checkout(step[len(CHECKOUT):])
            elif step == TOKENIZER:
                tokenizer.make(self.place)
            else:
                self.make(step)

    def check_checkout(self, name):
        if not (self.place.checkout / name).exists():
            raise Failed(f"{name} belongs to the checkout and is not there; "
                         f"get it back with: git checkout -- {name}")

    def make(self, name):
        """The product's path, after making it when it is missing, damaged or of another recipe."""
        product = self.manifest["products"][name]
        path = self.place.cache / name
        identity = self.identity(name)
        if self.is_done(name, path, identity):
            return path
        inputs = [self.input_path(each) for each in product["from"]]
        start = time.monotonic()
        say(f"making {name}: {product['about']}")
        with tempfile.TemporaryDirectory(prefix="fetch-", dir=self.place.scratch) as scratch:
            made = pathlib.Path(scratch) / path.name
            self.run_recipe(product, made, inputs)
            digest = digest_of(made)
            self.check_digest(name, product, digest)
            self.install(made, path)
        self.write_stamp(name, identity, digest)
        say(f"  done in {time.monotonic() - start:.1f} s: {path}")
        return path

    def input_path(self, text):
        kind, _, name = text.partition(":")
        if kind == "source":
            return clients.download(name, self.manifest["sources"][name], self.place)
        return self.make(name) if kind == "product" else self.place.home / name

    def identity(self, name):
        """Digest of everything that decides what the product is, down to the recipe's own text."""
        product = self.manifest["products"][name]
        parts = [json.dumps(product, sort_keys=True)]
        scripts = [product["recipe"], *product.get("modules", [])]
        parts += [digest_of(self.place.home / "recipes" / script) for script in scripts]
        for text in product["from"]:
            kind, _, source = text.partition(":")
            if kind == "source":
                parts.append(self.manifest["sources"][source]["sha256"])
            else:
                parts.append(self.identity(source) if kind == "product"
                             else digest_of(self.place.home / source))
        if "environment" in product:
            parts.append(digest_of(clients.requirements_of(product["environment"], self.place)))
        return text_digest("\n".join(parts))

    def run_recipe(self, product, made, inputs):
        recipe = self.place.home / "recipes" / product["recipe"]
        python = sys.executable
        if "environment" in product:
            python = clients.environment(product["environment"], self.place)
        self.place.run([python, "-B", recipe, made, *inputs], "recipe-" + recipe.stem)

    def check_digest(self, name, product, digest):
        wanted = product.get("sha256")
        if wanted and digest != wanted:
            raise Failed(f"{name} came out different from what tasks.json pins:\n"
                         f"  expected sha256 {wanted}\n  got             {digest}\n"
                         "It was not kept.")

    def install(self, made, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():  # a folder cannot be renamed over another
            shutil.rmtree(path)
        made.rename(path)

    def stamp_path(self, name):
        return self.place.state / "stamps" / (name.replace("/", "__") + ".json")

    def write_stamp(self, name, identity, digest):
        path = self.stamp_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"identity": identity, "digest": digest}) + "\n")

    def is_done(self, name, path, identity):
        try:
            stamp = json.loads(self.stamp_path(name).read_text())
        except (OSError, ValueError):
            return False
        if stamp.get("identity") != identity or not path.exists():
            return False
        if stamp.get("digest") == digest_of(path):
            return True
        say(f"{name} was changed since it was made: making it again")
        return False


def unknown_task(task, tasks):
    near = difflib.get_close_matches(task, tasks, n=1)
    hint = f' (did you mean "{near[0]}"?)' if near else ""
    print(f'unknown task "{task}"{hint}; there are:\n  ' + "\n  ".join(tasks), file=sys.stderr)
    return 2


def remove_leftovers(place):
    """What a run that was killed left in the scratch folder. The lock is held: nobody uses it."""
    for pattern in SCRATCH_FOLDERS:
        for folder in place.scratch.glob(pattern):
            shutil.rmtree(folder, ignore_errors=True)


def interrupt(_signal, _frame):
    raise KeyboardInterrupt


def fetch(task, manifest, place):
    start = time.monotonic()
    with open(place.state / "lock", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another fetch to end ...")
            fcntl.flock(lock, fcntl.LOCK_EX)
        remove_leftovers(place)
        Fetcher(manifest, place).fetch_task(task)
    say(f"{task}: everything is there ({time.monotonic() - start:.1f} s)")


def own_standard_output():
    """Standard output for this program's answer alone: what the clients say goes to the other."""
    answer = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answer


def main():
    parser = argparse.ArgumentParser(prog="assay fetch", description="Gets what a task needs.")
    parser.add_argument("task")
    parser.add_argument("--cache", type=pathlib.Path, default=default_cache(),
                        help="folder for what is fetched (default: %(default)s)")
    parser.add_argument("--json", action="store_true",
                        help="one JSON document on standard output, everything else on the other")
    arguments = parser.parse_args()
    answer = own_standard_output() if arguments.json else None
    manifest = json.loads((HERE / "tasks.json").read_text())
    if arguments.task not in manifest["tasks"]:
        return unknown_task(arguments.task, list(manifest["tasks"]))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    try:
        place = Workplace(arguments.cache.absolute(), HERE.parents[1], HERE)
        fetch(arguments.task, manifest, place)
        if answer:
            with answer:
                json.dump({"task": arguments.task, "cache": str(place.cache),
                           "products": manifest["tasks"][arguments.task]}, answer)
                answer.write("\n")
    except Failed as failure:
        print(f"assay fetch: {failure}", file=sys.stderr)
        return 3
    except OSError as error:
        print(f"assay fetch: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("assay fetch: interrupted; what is done is kept, repeat the command to go on",
              file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
