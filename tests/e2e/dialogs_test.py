"""The questions of a backend, asked on a terminal: what a person sees and types, and what becomes of
it."""
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import struct
import subprocess
import termios
import time

from support import ASSAY, Case

DEADLINE_S = 60
QUESTIONS = [
    {"name": "quantise", "note": "Quantise the model?", "dialog_type": "Yes/No Dialog", "type": "bool",
     "default": False, "depends": None},
    {"name": "bits", "note": "How many bits?", "dialog_type": "Input Dialog", "type": "int", "default": 8,
     "depends": "quantise"},
    {"name": "mode", "note": "Which mode?", "dialog_type": "Radiolist Dialog", "type": "str",
     "options": ["fast", "exact", "größer"], "default": "fast", "depends": None},
]
DOWN, ESCAPE, ENTER, CTRL_C = "\x1b[B", "\x1b", "\r", "\x03"


class Terminal:
    """A program on a terminal of its own, 24 lines of 80 letters."""

    def __init__(self, arguments, environment, folder, stdout=None):
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(theirs)
        self.kept = os.dup(theirs)  # so that its state can be looked at after the program's end
        self.process = subprocess.Popen(arguments, stdin=theirs, stdout=stdout or theirs, stderr=theirs, cwd=folder,
                                        env=environment, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)
        os.set_blocking(self.ours, False)
        self.screen = ""

    def read(self):
        try:
            self.screen += os.read(self.ours, 65536).decode(errors="replace")
        except BlockingIOError:
            time.sleep(0.01)

    def text(self):
        """What was drawn, without colours, places and line breaks."""
        return re.sub(r"\s+", " ", re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", " ", self.screen))

    def wait_for(self, words):
        """Until `words` are drawn; what was drawn before does not count again."""
        end = time.monotonic() + DEADLINE_S
        while words not in self.text():
            if time.monotonic() > end or self.process.poll() is not None:
                self.read()
                if words in self.text():
                    break
                raise AssertionError(f"never drawn: {words}\n{self.text()}")
            self.read()
        self.screen = ""

    def type(self, keys):
        os.write(self.ours, keys if isinstance(keys, bytes) else keys.encode())

    def resize(self, lines, columns):
        fcntl.ioctl(self.kept, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def end(self):
        """The exit code; the screen has the rest."""
        end = time.monotonic() + DEADLINE_S
        while self.process.poll() is None and time.monotonic() < end:
            self.read()
        self.read()
        if self.process.poll() is None:
            self.process.kill()
        return self.process.wait()

    def is_as_before(self):
        return termios.tcgetattr(self.kept) == self.before

    def hang_up(self):
        """As when a window is closed or a connection is cut."""
        os.close(self.ours)
        os.close(self.kept)
        self.ours = self.kept = None

    def close(self):
        if self.ours is None:
            self.process.kill()
            self.process.wait()
            return
        self.end()
        self.hang_up()


class DialogCase(Case):
    def setUp(self):
        super().setUp()
        folder = self.temp / "backends" / "NULL"
        shutil.copytree(pathlib.Path(ASSAY).parents[1] / "backends" / "NULL", folder)
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["profile"] = "NULL.json"
        (folder / "manifest.json").write_text(json.dumps(manifest))
        (folder / "NULL.json").write_text(json.dumps(QUESTIONS))

    def command(self, *arguments, until="--compile_only"):
        return [ASSAY, "run", "--task", "fashion-mnist-cnn-onnx-fp32", "--hardware_type", "NULL", until,
                "--interactive", "--output", str(self.folder), *map(str, arguments)]

    def start(self, *arguments, stdout=None, until="--compile_only"):
        terminal = Terminal(self.command(*arguments, until=until),
                            self.environment(TERM="xterm", ASSAY_BACKENDS=str(self.temp / "backends")), self.temp,
                            stdout=stdout)
        self.addCleanup(terminal.close)
        return terminal

    def configured(self, *arguments, **settings):
        """A run whose first question was answered with yes."""
        terminal = self.start(*arguments, **settings)
        terminal.wait_for("Configure the backend's options?")
        terminal.type("y")
        return terminal

    def answers(self):
        questions = json.loads((self.folder / "result.json").read_text())["questions"]
        return {each["name"]: (each["answer"], each["source"]) for each in questions}


class Dialogs(DialogCase):
    def test_every_kind_is_asked_and_its_origin_is_told(self):
        terminal = self.configured()
        terminal.wait_for("Quantise the model?")
        terminal.type("y")
        terminal.wait_for("How many bits?")
        terminal.type("4" + ENTER)
        terminal.wait_for("Which mode?")
        terminal.type(DOWN + DOWN + ENTER)
        self.assertEqual(terminal.end(), 0)
        self.assertEqual(self.answers(), {"quantise": (True, "dialog"), "bits": (4, "dialog"),
                                          "mode": ("größer", "dialog")})
        self.assertIn("größer", (self.folder / "report.html").read_text())

    def test_what_depends_on_a_no_is_not_asked(self):
        terminal = self.configured()
        terminal.wait_for("Quantise the model?")
        terminal.type("n")
        terminal.wait_for("Which mode?")
        self.assertNotIn("How many bits?", terminal.text())
        terminal.type(ENTER)
        self.assertEqual(terminal.end(), 0)
        answers = self.answers()
        self.assertEqual(answers["quantise"], (False, "dialog"))
        self.assertEqual(answers["bits"], (None, "not asked"))

    def test_what_cannot_be_is_said_and_asked_again(self):
        terminal = self.configured("--set", "quantise=true")
        terminal.wait_for("How many bits?")
        for wrong in ("many", "1.5", "99999999999999999999"):
            terminal.type(wrong + ENTER)
            terminal.wait_for("accepted")
        terminal.type("16" + ENTER)
        terminal.wait_for("Which mode?")
        terminal.type(ESCAPE)
        self.assertEqual(terminal.end(), 0)
        self.assertEqual(self.answers(), {"quantise": (True, "--set"), "bits": (16, "dialog"), "mode": ("fast", "default")})

    def test_bytes_that_are_no_text_do_no_harm(self):
        terminal = self.configured("--set", "quantise=true")
        terminal.wait_for("How many bits?")
        terminal.type(b"\xff\xfe\x80" + ENTER.encode())
        terminal.wait_for("How many bits?")
        terminal.type("\x7f" * 8 + "4" + ENTER)
        terminal.wait_for("Which mode?")
        terminal.type(ENTER)
        self.assertEqual(terminal.end(), 0)
        self.assertEqual(self.answers()["bits"], (4, "dialog"))

    def test_a_window_that_changes_keeps_the_question(self):
        terminal = self.configured()
        terminal.wait_for("Quantise the model?")
        terminal.resize(50, 120)
        terminal.type("n")
        terminal.wait_for("Which mode?")
        terminal.type(ENTER)
        self.assertEqual(terminal.end(), 0)

    def test_not_to_configure_takes_the_defaults(self):
        terminal = self.start()
        terminal.wait_for("Configure the backend's options?")
        terminal.type("n")
        self.assertEqual(terminal.end(), 0)
        self.assertEqual(self.answers()["mode"], ("fast", "default"))

    def test_answers_that_were_given_are_not_asked(self):
        file = self.temp / "answers.json"
        file.write_text('{"mode": "exact", "quantise": false}')
        terminal = self.configured("--answers", file, "--set", "quantise=true")
        terminal.wait_for("How many bits?")
        terminal.type(ENTER)  # the default
        self.assertEqual(terminal.end(), 0)
        self.assertEqual(self.answers(), {"quantise": (True, "--set"), "bits": (8, "default"),
                                          "mode": ("exact", "--answers")})

    def test_ctrl_c_leaves_nothing_and_the_terminal_as_it_was(self):
        terminal = self.configured()
        terminal.wait_for("Quantise the model?")
        terminal.type(CTRL_C)
        self.assertEqual(terminal.end(), 130)
        self.assertTrue(terminal.is_as_before())
        self.assertFalse((self.folder / "result.json").exists())

    def test_the_terminal_is_as_it_was_after_the_last_answer(self):
        terminal = self.start()
        terminal.wait_for("Configure the backend's options?")
        terminal.type("n")
        self.assertEqual(terminal.end(), 0)
        self.assertTrue(terminal.is_as_before())

    def test_nobody_is_asked_where_the_answer_could_not_be_seen(self):
        with open(self.temp / "out", "wb") as out:
            terminal = self.start(stdout=out)
            self.assertEqual(terminal.end(), 0)
        self.assertEqual(self.answers()["mode"], ("fast", "default"))
        self.assertNotIn(b"\x1b", (self.temp / "out").read_bytes())

    def test_without_a_terminal_it_does_not_wait(self):
        done = subprocess.run(self.command(), stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=self.temp,
                              env=self.environment(ASSAY_BACKENDS=str(self.temp / "backends")), check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("nobody is asked", done.stderr)
        self.assertEqual(self.answers()["mode"], ("fast", "default"))

    def test_json_leaves_no_room_for_dialogs(self):
        terminal = self.start("--json")
        self.assertEqual(terminal.end(), 0)
        self.assertNotIn("Configure", terminal.text())
        self.assertEqual(self.answers()["mode"], ("fast", "default"))


class DialogsThatEnd(DialogCase):
    """Without an answer."""

    def test_by_a_signal_from_elsewhere(self):
        for sent in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(sent=sent.name):
                terminal = self.configured()
                terminal.wait_for("Quantise the model?")
                os.kill(terminal.process.pid, sent)
                self.assertEqual(terminal.end(), 130)
                self.assertTrue(terminal.is_as_before())
                self.assertFalse((self.folder / "result.json").exists())

    def test_with_their_terminal(self):
        terminal = self.configured()
        terminal.wait_for("Quantise the model?")
        terminal.hang_up()
        self.assertEqual(terminal.process.wait(DEADLINE_S), 130)

    def test_ctrl_c_after_the_last_of_them_interrupts_the_run(self):
        terminal = self.start(until="--iterations=1000000000")
        terminal.wait_for("Configure the backend's options?")
        terminal.type("n")
        terminal.wait_for("compile")
        terminal.type(CTRL_C)
        self.assertEqual(terminal.end(), 130)
        self.assertEqual(json.loads((self.folder / "result.json").read_text())["exit_code"], 130)
