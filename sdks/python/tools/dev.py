"""Run a program with the pinned tools of this library: `python3 tools/dev.py -m pytest`.

The first run installs them into a folder outside of the repository: below PUNCTUAL_CACHE, or below the cache folder of your
user. Later runs need no network.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent.parent
REQUIREMENTS = HERE / "requirements.txt"
OLDEST = (3, 10)


def environment() -> Path:
    """Return the folder of the virtual environment. Another version of Python or of a tool has another folder."""
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "punctual"
    digest = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()
    return Path(os.environ.get("PUNCTUAL_CACHE") or usual) / f"python-{digest[:16]}"


def python_of(folder: Path) -> str:
    """Return the interpreter of a virtual environment."""
    return str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")


def install(folder: Path) -> None:
    """Make the virtual environment. A part of one from a run that was ended is removed first."""
    shutil.rmtree(folder, ignore_errors=True)
    sys.stderr.write(f"installing the tools of the Python client into {folder}\n")
    venv.create(folder, with_pip=True)
    pip = [python_of(folder), "-m", "pip", "--disable-pip-version-check", "--quiet"]
    run([*pip, "install", "--requirement", str(REQUIREMENTS)], folder)
    # The test of the package installs it into an empty environment, with its dependencies and without the network.
    wheels = str(folder / "wheels")
    run([*pip, "download", "--only-binary=:all:", "--constraint", str(REQUIREMENTS), "--dest", wheels, "httpx"], folder)
    # pyright fetches its program when it runs for the first time.
    run([python_of(folder), "-m", "pyright", "--version"], folder)
    (folder / "complete").touch()


def run(command: list[str], folder: Path) -> None:
    """Run a command, and end if it fails."""
    ended = subprocess.run(command, check=False, env=variables(folder))  # noqa: S603
    if ended.returncode != 0:
        sys.exit(ended.returncode)


def variables(folder: Path) -> dict[str, str]:
    """Return the variables for programs of the environment."""
    return {
        **os.environ,
        # pyright looks for the packages of the first interpreter on the PATH.
        "PATH": os.pathsep.join([str(Path(python_of(folder)).parent), os.environ.get("PATH", "")]),
        "PYRIGHT_PYTHON_CACHE_DIR": str(folder / "pyright"),
        "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1",
        "PUNCTUAL_PYTHON_WHEELS": str(folder / "wheels"),
    }


def main() -> None:
    """Install what is missing, and run the program."""
    if sys.version_info < OLDEST:
        sys.exit("the Python client needs Python 3.10 or newer")
    folder = environment()
    if not (folder / "complete").exists():
        install(folder)
    run([python_of(folder), *sys.argv[1:]], folder)


if __name__ == "__main__":
    main()
