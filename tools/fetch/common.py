"""What the parts of the fetch tool share: folders, digests, running a client with a log."""
import hashlib
import os
import pathlib
import subprocess
import time

LOG_LINES_SHOWN = 15
HEARTBEAT_S = 20


class Failed(Exception):
    """Something that the user can act on; the text says what failed and what to do."""


def say(text):
    print(text, flush=True)


def default_cache():
    if "ASSAY_CACHE" in os.environ:
        return pathlib.Path(os.environ["ASSAY_CACHE"])
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "assay"


def text_digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def _file_digest(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def digest_of(path):
    """SHA-256 of a file; of a folder that of its files' sorted names and digests."""
    if not path.is_dir():
        return _file_digest(path)
    files = sorted(each for each in path.rglob("*") if each.is_file())
    lines = [f"{each.relative_to(path).as_posix()} {_file_digest(each)}\n" for each in files]
    return text_digest("".join(lines))


class Workplace:
    """The folders of a run. What is written is below the user's cache."""

    def __init__(self, cache, checkout, home):
        self.cache = cache
        self.checkout = checkout
        self.home = home  # recipes, requirements and data of the fetch tool
        self.downloads = cache / "downloads"
        self.state = cache / "fetch"  # stamps, logs, environments, the clients' own caches
        self.scratch = cache / "tmp"
        for folder in (self.downloads, self.state / "logs", self.scratch):
            folder.mkdir(parents=True, exist_ok=True)

    def run(self, command, log_name, *, cwd=None, environment=None, hint=""):
        """Runs a command with its output in a log; Failed with the log's end when it fails."""
        log_path = self.state / "logs" / (log_name + ".log")
        command = [str(part) for part in command]
        start = time.monotonic()
        with open(log_path, "wb") as log:
            try:
                process = subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=log,
                                           stderr=subprocess.STDOUT,
                                           env={**os.environ, **(environment or {})})
            except FileNotFoundError as error:
                raise Failed(f"cannot run {command[0]}: {error.strerror}. {hint}".rstrip()) from error
            _wait(process, start)
        if process.returncode != 0:
            tail = log_path.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:]
            shown = "\n".join("    " + line for line in tail)
            raise Failed(f"{pathlib.Path(command[0]).name} failed (exit code {process.returncode}); "
                         f"the log is {log_path} and ends:\n{shown}\n{hint}".rstrip())


def _wait(process, start):
    """Waits, saying now and then that it does; the process goes when the wait is interrupted."""
    try:
        while True:
            try:
                process.wait(HEARTBEAT_S)
                return
            except subprocess.TimeoutExpired:
                say(f"    still at it after {time.monotonic() - start:.0f} s")
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
