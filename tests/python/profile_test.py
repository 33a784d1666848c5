"""Interact profiles in the forms seen."""
import sys
import unittest

import support

sys.path.insert(0, str(support.PACKAGE))
from assay_host.errors import BridgeError  # noqa: E402
from assay_host.profile import normalise  # noqa: E402

QUESTION = {"name": "omp", "note": "Using OMP?", "dialog_type": "Yes/No Dialog", "type": "bool",
            "default": False, "depends": None}


class Profiles(support.Case):
    def test_nothing_to_ask(self):
        for nothing in (None, [], {}, ()):
            self.assertEqual(normalise(nothing), ([], {}, []))

    def test_a_list_passes_and_unknown_keys_are_said(self):
        self.assertEqual(normalise([QUESTION]), ([QUESTION], {}, []))
        questions, _, notes = normalise([dict(QUESTION, colour="red")])
        self.assertEqual((questions, notes), ([QUESTION], ['question "omp": colour is not used']))

    def test_a_dict_that_is_one_question_or_questions_by_name(self):
        self.assertEqual(normalise(QUESTION)[0], [QUESTION])
        unnamed = {key: value for key, value in QUESTION.items() if key != "name"}
        self.assertEqual(normalise({"omp": unnamed})[0], [QUESTION])

    def test_what_is_none_of_these(self):
        with self.assertRaises(BridgeError):
            normalise("omp")
        with self.assertRaises(BridgeError):
            normalise(["omp"])

    def test_a_file_of_zero_bytes_read_by_the_backend(self):
        folder = self.temp / "EMPTYFILE"
        folder.mkdir()
        (folder / "EMPTYFILE.json").write_text("")
        (folder / "compile_backend_emptyfile.py").write_text("""
import json
from general_perf.backends import compile_backend
class CompileBackendEMPTYFILE(compile_backend.CompileBackend):
    def get_interact_profile(self, config):
        with open("general_perf/backends/EMPTYFILE/EMPTYFILE.json") as file:
            return json.load(file)
""")
        (folder / "runtime_backend_emptyfile.py").write_text("class RuntimeBackendEMPTYFILE:\n    pass\n")
        answer = self.answer_of("""
            host.prepare()
            answer["profile"] = host.profile
            answer["notes"] = bridge.notes()
            """, backend="EMPTYFILE", folder=folder)
        self.assertEqual(answer["profile"], "")
        self.assertIn("get_interact_profile reads an empty file: no questions", answer["notes"])


if __name__ == "__main__":
    unittest.main()
