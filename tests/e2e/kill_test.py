"""The controller ended by SIGKILL at every call that changes a file, and at moments between: --resume comes to
the same result."""
import concurrent.futures
import os
import pathlib
import random
import subprocess
import time
import unittest

from support import ASSAY, TEST_BACKENDS, Run
from zoo_test import CACHED, Zoo, processes_of

KILL_AT = pathlib.Path(TEST_BACKENDS) / "kill_at" / "libassay_kill_at.so"
SEED = int(os.environ.get("ASSAY_TEST_SEED", "20261201"))
SAMPLE = 12  # so many of the writes are tried each time, besides all syncs and renames
MOMENTS = 6


def what_counts(result):
    """Of a result, what does not depend on the time that things took."""
    return {"phases": [(p["name"], p["outcome"], p["reason"]) for p in result["phases"]],
            "artifact": result["provenance"]["artifact"],
            **{key: result[key] for key in ("accuracy", "criteria", "numeric", "verdict", "questions", "exit_code")}}


class Killed(Zoo):
    """Whenever the end came, all is there after --resume."""

    def start(self, name, *arguments, **environment):
        """A run with a cache that has no reference outputs yet."""
        here = self.temp / name
        cache = here / "cache"
        if not cache.exists():
            cache.mkdir(parents=True)
            own = pathlib.Path(os.environ.get("ASSAY_CACHE", pathlib.Path.home() / ".cache" / "assay"))
            for part in CACHED:
                if part != "reference" and (own / part).exists():
                    (cache / part).symlink_to(own / part)
        build = pathlib.Path(ASSAY).parent.parent
        variables = {**self.environment(), "ASSAY_CACHE": str(cache), "ASSAY_ROOT": str(self.root),
                     "ASSAY_BACKENDS": f"{TEST_BACKENDS}:{build / 'backends'}", **environment}
        return subprocess.Popen([ASSAY, "run", "--output", str(here / "run"), "--task", "zoo", "--hardware_type",
                                 "FAULTY", "--quick", "--iterations", "1", "--data_percent", "1", "--batch_sizes",
                                 "4", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=variables, cwd=self.temp)

    def end(self, process, name):
        out, err = process.communicate(timeout=600)
        return Run(subprocess.CompletedProcess(process.args, process.returncode, out, err), self.temp / name / "run")

    def whole(self):
        """A run that nobody disturbs, and the calls that it made."""
        log = self.temp / "calls"
        run = self.end(self.start("whole", LD_PRELOAD=str(KILL_AT), ASSAY_KILL_LOG=str(log)), "whole")
        self.assert_complete(run)
        return run, log.read_text().split()

    def files(self, run):
        return sorted(str(path.relative_to(run.folder)) for path in run.folder.rglob("*")
                      if not path.name.endswith(".log"))

    def resume(self, name):
        """Goes on after the kill, as often as it takes: once."""
        self.wait_until_gone(self.temp / name / "cache")
        run = self.end(self.start(name, "--resume"), name)
        left = [str(path) for part in ("tmp/*", ".probe-*", "reference/*.partial-*")
                for path in (self.temp / name / "cache").glob(part)]
        return run, left + processes_of(str(self.temp / name / "cache"))

    def wait_until_gone(self, cache):
        """The workers of a controller that was killed go with it; that is the kernel's work, and takes a moment."""
        while processes_of(str(cache)):
            time.sleep(0.01)

    def check(self, whole, resumed):
        for name, (run, left) in resumed.items():
            with self.subTest(name):
                self.assert_complete(run)
                self.assertEqual(what_counts(run.result), what_counts(whole.result))
                self.assertEqual(self.files(run), self.files(whole))
                self.assertEqual(left, [])

    def kill_and_resume(self, at):
        name = f"at-{at}"
        killed = self.end(self.start(name, LD_PRELOAD=str(KILL_AT), ASSAY_KILL_AT=str(at)), name)
        if killed.code != -9:
            return killed, [f"call {at} was not reached"]
        return self.resume(name)

    def kill_at(self, sample):
        whole, calls = self.whole()
        self.assertGreater(len(calls), 20, "hardly any call is seen")
        kinds = {kind: [i + 1 for i, each in enumerate(calls) if each == kind] for kind in sorted(set(calls))}
        for kind in ("write", "fsync", "rename"):
            self.assertIn(kind, kinds)
        chosen = [i for kind, places in kinds.items() if kind in ("fsync", "fdatasync", "rename", "link")
                  for i in places]
        others = [i for i in range(1, len(calls) + 1) if i not in chosen]
        if sample:
            others = random.Random(SEED).sample(others, min(SAMPLE, len(others)))
        print(f"{len(calls)} calls, {len(chosen + others)} of them tried, seed {SEED}:",
              {kind: len(places) for kind, places in kinds.items()}, flush=True)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            tried = sorted(chosen + others)
            resumed = dict(zip((f"{i}: {calls[i - 1]}" for i in tried), pool.map(self.kill_and_resume, tried)))
        self.check(whole, resumed)

    def test_at_every_sync_and_rename_and_at_some_writes(self):
        self.kill_at(sample=True)

    def test_at_moments_between(self):
        began = time.monotonic()
        whole = self.end(self.start("whole"), "whole")
        took = time.monotonic() - began
        chance = random.Random(SEED)
        resumed = {}
        for i in range(MOMENTS):
            name = f"moment-{i}"
            process = self.start(name)
            time.sleep(chance.random() * took)  # wherever that is: nothing below depends on it
            process.kill()
            self.end(process, name)
            resumed[name] = self.resume(name)
        self.check(whole, resumed)


class KilledAnywhere(Killed):
    test_at_every_sync_and_rename_and_at_some_writes = test_at_moments_between = None

    def test_at_every_call_that_changes_a_file(self):
        self.kill_at(sample=False)


if __name__ == "__main__":
    unittest.main()
