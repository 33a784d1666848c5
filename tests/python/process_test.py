"""A compile result on its way to another process: pickled, or made again there."""
import unittest

import support

COMPILE = """
host.prepare()
answer["result"] = host.compile()
answer["configs"] = host.configs
"""
ANSWERED = {**support.CONFIGS, "interact_info": {"threads": 2, "fuse": True, "level": "O2"}}
LOAD = """
host.open()
host.load({batch})
batch = driver.images({batch})
got, = host.predict(batch)
answer["error"] = float(abs(got - driver.logits(batch)).max())
answer["notes"] = bridge.notes()
"""


class OtherProcess(support.Case):
    def load_elsewhere(self, backend, batch=4, **options):
        compiled = self.answer_of(COMPILE, backend=backend)
        loaded = self.answer_of(LOAD.format(batch=batch), backend=backend, configs=compiled["configs"], **options)
        self.assertLess(loaded["error"], 1e-5)
        return loaded

    def test_a_plain_result_is_pickled(self):
        loaded = self.load_elsewhere("GUIDE")
        self.assertTrue((self.artifact / "compile_info.pickle").exists())
        self.assertEqual(loaded["notes"], [])

    def test_objects_stay_the_same_objects_among_one_another(self):
        self.assertEqual(self.load_elsewhere("MUTATES")["notes"], [])

    def test_environment_variables_and_files_of_compile_go_along(self):
        self.assertEqual(self.load_elsewhere("ATHOME")["notes"], [])

    def test_a_new_compilation_finds_nothing_of_the_last_one(self):
        scratch = self.temp / "shared"
        compiled = self.answer_of(COMPILE, backend="ATHOME", scratch=scratch)
        again = self.answer_of(COMPILE, backend="ATHOME", scratch=scratch)  # ATHOME looks
        self.assertEqual(again["result"], compiled["result"])

    def test_a_live_result_is_compiled_again_and_that_is_said(self):
        loaded = self.load_elsewhere("LIVE", batch=8)
        self.assertIn("compiled again in this process, because the compile result lives in its process only",
                      loaded["notes"])

    def test_pre_optimize_is_not_applied_to_what_it_made(self):
        compiled = self.answer_of(COMPILE, backend="MUTATES")
        (self.artifact / "compile_info.pickle").unlink()
        loaded = self.answer_of(LOAD.format(batch=4), backend="MUTATES", configs=compiled["configs"])
        self.assertLess(loaded["error"], 1e-5)  # MUTATES counts

    def test_a_new_compilation_in_another_worker_of_the_run(self):
        scratch = self.temp / "shared"
        compiled = self.answer_of(COMPILE, backend="MUTATES", scratch=scratch)
        again = self.answer_of("""
            host.open()
            answer["result"] = host.compile()
            """, backend="MUTATES", configs=compiled["configs"], scratch=scratch)
        self.assertEqual(again["result"], compiled["result"])

    def test_best_batch_sizes_in_another_worker_of_the_run(self):
        scratch = self.temp / "shared"
        self.answer_of(COMPILE, backend="SETTINGS", configs=ANSWERED, scratch=scratch)
        again = self.answer_of("host.open(); answer['best'] = bridge.best_batch_size()", backend="SETTINGS",
                               configs=ANSWERED, scratch=scratch)
        self.assertEqual(again["best"], [4, 8])  # SETTINGS learns them with its profile

    def test_a_pickle_that_does_not_load_is_said_and_compiled_again(self):
        compiled = self.answer_of(COMPILE)
        (self.artifact / "compile_info.pickle").write_bytes(b"no pickle")
        loaded = self.answer_of(LOAD.format(batch=4), configs=compiled["configs"])
        self.assertLess(loaded["error"], 1e-5)
        self.assertTrue(any("of another process does not load here" in note for note in loaded["notes"]))

    def test_a_folder_that_compile_did_not_make(self):
        answer = self.answer_of('host.open(); answer["failure"] = host.failure(host.load, 4)')
        code, message = answer["failure"]
        self.assertEqual(code, 9)
        self.assertIn("not made by this backend's compile", message)

    def test_two_compilations_of_one_process_are_told_apart(self):
        answer = self.answer_of("""
            import shutil
            host.all()
            first = host.artifact + " first"
            shutil.copytree(host.artifact, first)
            host.compile()
            live = bridge._session._live
            answer["tokens"] = list(live)
            host.load(4)
            answer["second"] = bridge._session.runtime.configs is list(live.values())[1]
            host.artifact = first
            host.load(4)
            answer["first"] = bridge._session.runtime.configs is list(live.values())[0]
            """)
        self.assertEqual(len(answer["tokens"]), 2)
        self.assertTrue(answer["first"] and answer["second"])


if __name__ == "__main__":
    unittest.main()
