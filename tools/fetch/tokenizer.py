"""Builds the tokenizer library from src/dataset/tokenizer with cargo, into the cache."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

from common import Failed, digest_of, say, text_digest

SOURCES = ["Cargo.toml", "Cargo.lock", "src/lib.rs"]
LIBRARY = "libassay_tokenizer.so"
OLDEST_CARGO = (1, 85)
# Debian 12's own cargo is too old; these packages are its newer one.
PACKAGES = ["cargo-web", "rustc-web"]


def identity(checkout):
    """The twelve digits that src/dataset/CMakeLists.txt computes too."""
    folder = checkout / "src" / "dataset" / "tokenizer"
    digests = "".join(digest_of(folder / name) + "\n" for name in SOURCES)
    return text_digest(digests)[:12]


def make(place):
    folder = place.cache / "deps" / ("tokenizer-" + identity(place.checkout))
    if (folder / LIBRARY).exists():
        return
    _need_cargo(place)
    start = time.monotonic()
    say("building the tokenizer library (77 Rust packages, about two minutes) ...")
    with tempfile.TemporaryDirectory(prefix="tokenizer-", dir=place.scratch) as scratch:
        target = pathlib.Path(scratch) / "target"
        manifest = place.checkout / "src" / "dataset" / "tokenizer" / "Cargo.toml"
        place.run(["cargo", "build", "--release", "--locked", "--manifest-path", manifest],
                  "tokenizer", environment={"CARGO_HOME": str(_cargo_home(place)),
                                            "CARGO_TARGET_DIR": str(target)},
                  hint="Check the network and cargo's configuration, then repeat the command.")
        made = pathlib.Path(scratch) / folder.name
        made.mkdir()
        (target / "release" / LIBRARY).rename(made / LIBRARY)
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        made.rename(folder)
    say(f"  done in {time.monotonic() - start:.1f} s: {folder / LIBRARY}")


def _cargo_home(place):
    """Cargo's downloads stay in our cache; the user's own configuration (a mirror, say) is kept."""
    home = place.state / "cargo"
    home.mkdir(exist_ok=True)
    own = pathlib.Path(os.environ.get("CARGO_HOME") or pathlib.Path.home() / ".cargo")
    for name in ("config.toml", "config"):
        if (own / name).is_file():
            shutil.copyfile(own / name, home / name)
    return home


def _cargo_version():
    """(1, 85) for cargo 1.85.0; None when there is no cargo that runs."""
    try:
        text = subprocess.run(["cargo", "--version"], check=True, capture_output=True,
                              text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    match = re.search(r"cargo (\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else None


def _need_cargo(place):
    version = _cargo_version()
    if version is not None and version >= OLDEST_CARGO:
        return
    found = "there is none" if version is None else f"the one here is {version[0]}.{version[1]}"
    need = f"the tokenizer library is built with cargo {OLDEST_CARGO[0]}.{OLDEST_CARGO[1]} or newer; {found}"
    command = ["apt-get", "install", "-y", "--no-install-recommends", *PACKAGES]
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise Failed(f"{need}.\nOn Debian 12 get it with: sudo {' '.join(command)}\n"
                     "then repeat the command.")
    say(f"{need}: installing {' and '.join(PACKAGES)}")
    place.run(["apt-get", "update"], "apt-update")
    place.run(command, "apt-install", environment={"DEBIAN_FRONTEND": "noninteractive"})
