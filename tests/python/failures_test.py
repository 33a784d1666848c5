"""What goes wrong in vendor code ends in a code and a message that names both sides."""
import unittest

import support

CANCELLED, UNKNOWN, INVALID, NOT_FOUND, RESOURCE_EXHAUSTED, FAILED_PRECONDITION, INTERNAL = 1, 2, 3, 5, 8, 9, 13


class Failures(support.Case):
    def failure(self, fault, call="host.predict, driver.images(4)", before="host.compile(); host.load(4)"):
        answer = self.answer_of("""
            host.prepare()
            host.configs["interact_info"] = {{"fault": {!r}}}
            {}
            answer["failure"] = host.failure({})
            answer["notes"] = bridge.notes()
            """.format(fault, before, call), backend="FAULTY")
        self.notes = answer["notes"]
        self.assertIsNotNone(answer["failure"], "nothing failed")
        return answer["failure"]

    def test_outputs_that_are_not_what_the_model_has(self):
        for fault, said in {
                "returns_none": 'predict returned None, wants "logits"',
                "few": 'predict returned 0 outputs, wants 1: "logits"',
                "many": 'predict returned 2 outputs, wants 1: "logits"',
                "none_inside": 'output "logits": got None, wants an array',
                "other_name": 'predict returned 1 outputs named "scores", wants 1 named "logits"',
                "object": 'output "logits": got elements of object',
                "complex": 'output "logits": got elements of complex64, accepted: ',
                "ragged": 'output "logits": got list'}.items():
            with self.subTest(fault=fault):
                code, message = self.failure(fault)
                self.assertEqual(code, INTERNAL)
                self.assertTrue(message.startswith(said), message)

    def test_a_word_is_no_output(self):
        code, message = self.failure("word")
        self.assertEqual(code, INTERNAL)
        self.assertIn("logits", message)

    def test_sys_exit_is_a_failure_and_not_an_end(self):
        code, message = self.failure("exits")
        self.assertEqual(code, INTERNAL)
        self.assertEqual(message, "the backend called sys.exit(3) in predict ({})".format(
            support.place("FAULTY", "runtime_backend_faulty.py", "sys.exit(3)")))

    def test_sys_exit_in_compile(self):
        code, message = self.failure("compile_exits", "host.compile", "")
        self.assertEqual(code, INTERNAL)
        self.assertTrue(message.startswith("the backend called sys.exit(no licence) in compile"), message)

    def test_an_exception_keeps_its_type_and_place(self):
        code, message = self.failure("fails")
        self.assertEqual(code, UNKNOWN)
        self.assertEqual(message, "ValueError: the queue is broken ({})".format(
            support.place("FAULTY", "runtime_backend_faulty.py", "the queue is broken")))

    def test_what_predict_does_wrong_at_once_is_not_said_of_load(self):
        code, message = self.failure("fails_at_once", "host.load, 4", "host.compile()")
        self.assertEqual(code, UNKNOWN)
        self.assertEqual(message, "predict, called once on generated inputs: ValueError: no queue ({})".format(
            support.place("FAULTY", "runtime_backend_faulty.py", "raise ValueError(\"no queue\")")))

    def test_a_text_that_cannot_be_told_is_written_out(self):
        code, message = self.failure("odd_text")
        self.assertEqual((code, message.partition(" (")[0]), (UNKNOWN, "ValueError: \\udcff\\x00 end"))

    def test_an_interrupt_of_its_own_has_a_name(self):
        code, message = self.failure("interrupts")
        self.assertEqual((code, message.partition(" (")[0]), (CANCELLED, "KeyboardInterrupt"))

    def test_inputs_are_read_only(self):
        code, message = self.failure("writes")
        self.assertEqual(code, FAILED_PRECONDITION)
        self.assertIn("copy an input before changing it", message)

    def test_an_input_that_is_kept_is_noted(self):
        answer = self.answer_of("""
            host.prepare()
            host.configs["interact_info"] = {"fault": "keeps"}
            host.compile(); host.load(4)
            answer["notes"] = bridge.notes()
            """, backend="FAULTY")
        self.assertIn('predict keeps a reference to its input "input", whose memory is lent for the call only',
                      answer["notes"])

    def test_compile_without_a_result(self):
        self.assertEqual(self.failure("compile_none", "host.compile", "")[0], INTERNAL)

    def test_memory(self):
        code, message = self.failure("compile_memory", "host.compile", "")
        self.assertEqual(code, RESOURCE_EXHAUSTED)
        self.assertIn("MemoryError: 4 GiB", message)

    def test_an_import_inside_a_method(self):
        code, message = self.failure("compile_import", "host.compile", "")
        self.assertEqual(code, FAILED_PRECONDITION)
        self.assertIn('"surely_not_installed"', message)

    def test_load_that_raises(self):
        code, message = self.failure("load_raises", "host.load, 4", "host.compile()")
        self.assertEqual((code, message.partition(" (")[0]), (UNKNOWN, "RuntimeError: no device"))

    def test_a_loaded_batch_size_of_zero(self):
        code, message = self.failure("loaded_zero", "host.load, 4", "host.compile()")
        self.assertEqual((code, message), (INTERNAL, "get_loaded_batch_size returned 0, wants a batch size"))


class WrongCalls(support.Case):
    def test_before_anything_is_open_or_loaded(self):
        answer = self.answer_of("""
            answer["closed"] = host.failure(bridge.traits)
            host.prepare()
            answer["unloaded"] = host.failure(bridge.predict, ())
            answer["other"] = host.failure(bridge.open, "/", "OTHER")
            host.open()
            """)
        self.assertEqual(answer["closed"], [FAILED_PRECONDITION, "no backend is open"])
        self.assertEqual(answer["unloaded"], [FAILED_PRECONDITION, "nothing is loaded"])
        self.assertEqual(answer["other"][0], FAILED_PRECONDITION)

    def test_bytes_that_do_not_fit(self):
        answer = self.answer_of("""
            host.all()
            answer["bytes"] = host.failure(bridge.predict, (memoryview(bytes(12)),))
            answer["count"] = host.failure(bridge.predict, ())
            half, = host.predict(driver.images(2))
            answer["half"] = float(abs(half - driver.logits(driver.images(2))).max())
            """)
        self.assertEqual(answer["bytes"], [INVALID, 'input "input": got 12 bytes, wants 12544 for [4, 1, 28, 28]'])
        self.assertEqual(answer["count"], [INVALID, "predict: got 0 inputs, wants 1"])
        self.assertEqual(answer["half"], 0)  # a batch smaller than the loaded one

    def test_a_folder_without_the_files(self):
        folder = self.temp / "EMPTY"
        folder.mkdir()
        answer = self.answer_of("""
            answer["failure"] = host.failure(host.open)
            answer["again"] = host.failure(host.open)
            """, backend="EMPTY", folder=folder)
        code, message = answer["failure"]
        self.assertEqual(answer["again"], [code, message])
        self.assertEqual(code, NOT_FOUND)
        self.assertIn("has no compile_backend_empty.py; it holds nothing", message)

    def test_a_compilation_that_the_host_ends_is_cancelled(self):
        code, message = self.answer_of("""
            def progress(done, stage):
                raise KeyboardInterrupt("the host asked compile to end")
            host.prepare()
            answer["failure"] = host.failure(bridge.compile, host.text, host.artifact, driver.Loader(), progress)
            """, backend="GUIDE")["failure"]
        self.assertEqual((code, message), (CANCELLED, "the host asked compile to end"))

    def test_a_class_of_another_name(self):
        folder = self.temp / "NAMED"
        folder.mkdir()
        (folder / "compile_backend_named.py").write_text("class Compiler:\n    pass\n")
        (folder / "runtime_backend_named.py").write_text("class RuntimeBackendNamed:\n    pass\n")
        script = 'answer["failure"] = host.failure(host.open)\nanswer["notes"] = None'
        code, message = self.answer_of(script, backend="NAMED", folder=folder)["failure"]
        self.assertEqual(code, NOT_FOUND)
        self.assertEqual(message, "compile_backend_named.py has no class CompileBackendNAMED; it has Compiler")
        (folder / "compile_backend_named.py").write_text("class CompileBackendNamed:\n    pass\n")
        answer = self.answer_of('host.open(); answer["notes"] = bridge.notes()', backend="NAMED", folder=folder)
        self.assertIn("the class is called CompileBackendNamed, CompileBackendNAMED was expected", answer["notes"])


if __name__ == "__main__":
    unittest.main()
