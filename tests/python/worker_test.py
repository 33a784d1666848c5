"""The worker's program: serves over the library, keeps what is printed, runs what waits for the end."""
import os
import subprocess
import sys
import unittest

import support

DOUBLE = os.environ.get("ASSAY_WORKER_DOUBLE", "")
EVERY = """
import atexit, sys
atexit.register(lambda: print("goodbye"))
import assay_host.worker
print("printed by the backend")
sys.stderr.write("bad \\udcff bytes\\n")
assay_host.worker.main()
"""


class Worker(support.Case):
    def start(self, *arguments, **environment):
        environment = {**os.environ, "PYTHONPATH": str(support.PACKAGE), **environment}
        return subprocess.run([sys.executable, "-B", *arguments], env=environment, capture_output=True,
                              text=True, timeout=60, check=False)

    @unittest.skipUnless(DOUBLE, "run by CTest, which builds the double of the worker's library")
    def test_it_serves_on_descriptor_3_and_ends_with_the_code(self):
        run = self.start("-m", "assay_host.worker", ASSAY_WORKER_LIBRARY=DOUBLE, WORKER_DOUBLE_CODE="7")
        self.assertEqual((run.returncode, run.stdout), (7, "serves 3\n"), run.stderr)

    @unittest.skipUnless(DOUBLE, "run by CTest, which builds the double of the worker's library")
    def test_what_waits_for_the_end_runs_and_nothing_printed_is_lost(self):
        run = self.start("-c", EVERY, ASSAY_WORKER_LIBRARY=DOUBLE)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("printed by the backend\n", run.stdout)
        self.assertIn("serves 3\n", run.stdout)
        self.assertTrue(run.stdout.endswith("goodbye\n"), run.stdout)

    def test_what_a_backend_logs_is_in_the_log_from_INFO_on(self):
        run = self.start("-c", """
import logging, assay_host.worker
assay_host.worker._prepare_streams()
logging.getLogger("RuntimeBackendHW").info("the engine file exists, skip compile")
logging.getLogger("RuntimeBackendHW").debug("not this")
logging.basicConfig(level=logging.DEBUG)  # too late, as under the published engine
logging.getLogger("RuntimeBackendHW").debug("nor this")
""")
        self.assertEqual(run.stderr, "INFO:RuntimeBackendHW:the engine file exists, skip compile\n")

    def test_a_backend_can_start_processes_from_closures(self):
        run = self.start("-c", """
import multiprocessing, assay_host.worker
assay_host.worker._prepare_processes()
queue = multiprocessing.Queue()
def start(value):
    process = multiprocessing.Process(target=lambda: queue.put(value))
    process.start()
    got = queue.get(timeout=30)
    process.join()
    return got
print(start(5))
""")
        self.assertEqual(run.stdout, "5\n", run.stderr)

    def test_by_hand_it_says_who_starts_it(self):
        environment = {key: value for key, value in os.environ.items() if key != "ASSAY_WORKER_LIBRARY"}
        run = subprocess.run([sys.executable, "-B", "-m", "assay_host.worker"], capture_output=True, text=True,
                             env={**environment, "PYTHONPATH": str(support.PACKAGE)}, timeout=60, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("is started by assay", run.stderr)


if __name__ == "__main__":
    unittest.main()
