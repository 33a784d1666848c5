"""A headless Chromium driven through its DevTools protocol over a pair of pipes; standard library
only. Messages are JSON, each ended by a zero byte."""
import collections
import json
import os
import select
import shutil
import signal
import tempfile
import time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
# Nothing but what a page asks for may leave the browser.
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--hide-scrollbars", "--remote-debugging-pipe")


def find_program():
    """Path of a Chromium, or None. ASSAY_CHROMIUM names one."""
    named = os.environ.get("ASSAY_CHROMIUM")
    if named:
        return named if os.access(named, os.X_OK) else None
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


class BrowserError(Exception):
    """The browser ended, did not answer, or refused a command."""


class Browser:
    """One page of one browser process. A context manager; the process and its profile go with it."""

    def __init__(self, program, timeout_s=60):
        self._profile = tempfile.mkdtemp(prefix="assay-browser-")
        self._timeout_s = timeout_s
        self._next_id = 0
        self._buffer = b""
        self._session = None
        self._pid = None
        self.events = collections.deque()
        self._start(program)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target,
                                  flatten=True)["sessionId"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _start(self, program):
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        # Kept away from 3 and 4, where the browser expects its ends.
        high = [os.dup2(fd, 200 + i) for i, fd in enumerate((theirs_in, theirs_out))]
        log = os.open(os.path.join(self._profile, "log"), os.O_WRONLY | os.O_CREAT, 0o600)
        self._pid = os.posix_spawn(
            program, [program, *FLAGS, f"--user-data-dir={self._profile}/profile", "about:blank"],
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, high[0], 3), (os.POSIX_SPAWN_DUP2, high[1], 4),
                          (os.POSIX_SPAWN_DUP2, log, 1), (os.POSIX_SPAWN_DUP2, log, 2)],
            setsid=True)
        for fd in (theirs_in, theirs_out, *high, log):
            os.close(fd)

    def close(self):
        """Ends the browser: politely, then not."""
        if self._pid is None:
            return
        try:
            self.call("Browser.close")
        except BrowserError:
            pass
        for fd in (self._in, self._out):
            os.close(fd)
        for _ in range(100):
            if os.waitpid(self._pid, os.WNOHANG)[0]:
                break
            time.sleep(0.05)
        else:
            os.killpg(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        self._pid = None
        shutil.rmtree(self._profile, ignore_errors=True)

    def _read(self, deadline):
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._in], [], [], left)[0]:
                raise BrowserError(f"no answer within {self._timeout_s} s")
            chunk = os.read(self._in, 1 << 20)
            if not chunk:
                raise BrowserError("the browser ended")
            self._buffer += chunk
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method, **params):
        """Result of a command. Events that come meanwhile are appended to `events`."""
        self._next_id += 1
        message = {"id": self._next_id, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data):]
        deadline = time.monotonic() + self._timeout_s
        while True:
            answer = self._read(deadline)
            if answer.get("id") == self._next_id:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def wait_for(self, method):
        """The next event of this name, perhaps one that came already."""
        deadline = time.monotonic() + self._timeout_s
        seen = 0
        while True:
            for event in list(self.events)[seen:]:
                seen += 1
                if event["method"] == method:
                    return event
            message = self._read(deadline)
            if "method" in message:
                self.events.append(message)

    def open(self, url):
        """Loads `url` and waits until it and two frames are drawn."""
        self.events.clear()
        self.call("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")
        self.settle()

    def settle(self):
        """Until what changed has been laid out and drawn."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame("
                      "() => setTimeout(done, 0))))")

    def evaluate(self, expression):
        """Value of a JavaScript expression; a promise is awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True,
                           returnByValue=True)
        if "exceptionDetails" in answer:
            raise BrowserError(json.dumps(answer["exceptionDetails"])[:600])
        return answer["result"].get("value")

    def resize(self, width, height=900, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=scale, mobile=width < 600)
        self.settle()

    def emulate(self, scheme="light", media=""):
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.settle()
