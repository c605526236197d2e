"""The package as a user gets it: built, checked, installed into an empty environment, and used there."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

import pytest

from needed import needs
from punctual_client.testing import TestService

pytestmark = needs("PUNCTUAL_PYTHON_WHEELS")

HERE = Path(__file__).parent.parent

PROGRAM = """
import asyncio
from punctual_client import AsyncPunctual, NotFoundError, Punctual
from punctual_client.testing import TestReceiver, signed_request
from punctual_client.webhooks import Dead, WebhookHandler

secret = "whsec_" + "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBieXRlcyAuLi4="

def handle(event):
    raise Dead("end")

with Punctual(namespace="packed") as punctual:
    created = punctual.timers.create(delay="1h", callback_url="http://127.0.0.1:9/", payload={"n": 1})
    try:
        punctual.timers.get("missing")
    except NotFoundError as error:
        print(created.timer.state, error.code, punctual.service.get().now.tzinfo)

async def main():
    async with AsyncPunctual(namespace="packed") as punctual:
        print([timer.payload async for timer in punctual.timers.list(include=["payload"])])

asyncio.run(main())
print(WebhookHandler(secrets=secret, handle=handle).receive(*signed_request(secret=secret)).status, TestReceiver.__test__)
"""

USE = """
from typing import Any
from punctual_client import Punctual, RawJson, Timer
from punctual_client.webhooks import TimerEvent, WebhookHandler

with Punctual("http://127.0.0.1:1", namespace="a") as punctual:
    one: Timer[Any] = punctual.timers.get("a")
    raw: RawJson | None = punctual.timers.with_payloads(RawJson).get("a").payload
    punctual.timers.create(delai="1s")  # type: ignore[call-arg]
    punctual.timers.create(on_existing="perhaps")  # type: ignore[arg-type]

def handle(event: TimerEvent[int]) -> None:
    number: int | None = event.payload

handler: WebhookHandler[int] = WebhookHandler(allow_unsigned=True, handle=handle, load=int)
"""


def run(command: list[str], folder: Path, **variables: str) -> str:
    ended = subprocess.run(
        command, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, check=False, timeout=300
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(HERE)], folder)
    return folder


@pytest.fixture(scope="module")
def user(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an empty environment with the package and what it depends on."""
    folder = tmp_path_factory.mktemp("user")
    venv.create(folder / "venv", with_pip=True)
    [wheel] = built.glob("*.whl")
    wheels = os.environ["PUNCTUAL_PYTHON_WHEELS"]
    pip = ["-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--no-index", "--find-links", wheels]
    run([python_of(folder), *pip, str(wheel)], folder)
    return folder


def python_of(user: Path) -> str:
    return str(user / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python")


def metadata(built: Path) -> Iterator[str]:
    [wheel] = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        yield archive.read(name).decode()


def test_the_registry_would_accept_the_package(built: Path) -> None:
    files = sorted(str(file) for file in built.iterdir())
    assert [Path(file).name for file in files] == [
        "punctual_client-0.1.0-py3-none-any.whl",
        "punctual_client-0.1.0.tar.gz",
    ]
    run([sys.executable, "-m", "twine", "check", "--strict", *files], built)
    [text] = metadata(built)
    fields = Parser().parsestr(text)
    assert fields["Name"] == "punctual-client"
    assert fields["License-Expression"] == "MIT"
    assert fields["Requires-Python"] == ">=3.10"
    assert fields.get_all("Requires-Dist") == ["httpx<1,>=0.27"]
    assert fields["Summary"]
    assert fields["Keywords"]


def test_the_package_has_its_files_and_no_others(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    source = HERE / "src"
    expected = {str(file.relative_to(source)) for file in source.rglob("*.py")} | {"punctual_client/py.typed"}
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {name for name in names if ".dist-info/" not in name} == expected
    assert "punctual_client-0.1.0.dist-info/licenses/LICENSE" in names
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        tops = {name.split("/")[1] for name in archive.getnames()}
    assert {"src", "examples", "README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml"} <= tops
    assert not tops & {"tests", "checks.ts", "tools"}


@needs("PUNCTUAL_EXECUTABLE")
def test_the_installed_package_works(user: Path) -> None:
    with TestService() as service:
        printed = run([python_of(user), "-c", PROGRAM], user, TIMER_URL=service.url, TIMER_API_KEY="", PYTHONPATH="")
    assert printed == "pending timerNotFound UTC\n[{'n': 1}]\n422 False\n"


def test_the_installed_package_needs_httpx_only(user: Path) -> None:
    listed = run([python_of(user), "-m", "pip", "--disable-pip-version-check", "list", "--format=freeze"], user)
    names = {line.partition("==")[0].lower() for line in listed.split()}
    allowed = {"anyio", "certifi", "exceptiongroup", "h11", "httpcore", "httpx", "idna", "pip", "setuptools", "sniffio"}
    assert names - allowed - {"typing_extensions"} == {"punctual-client"}


def test_the_installed_package_has_types_that_the_strictest_checkers_accept(user: Path) -> None:
    (user / "use.py").write_text(USE)
    mypy = ["-m", "mypy", "--strict", "--python-executable", python_of(user), "--cache-dir", str(user / "cache")]
    run([sys.executable, *mypy, "use.py"], user)


def test_pytest_finds_the_plug_in(user: Path) -> None:
    script = "from importlib.metadata import entry_points; print([e.value for e in entry_points(group='pytest11')])"
    assert "'_punctual_pytest_plugin'" in run([python_of(user), "-c", script], user, PYTHONPATH="")


def test_the_plug_in_loads_the_library_only_for_tests_that_use_it() -> None:
    script = "import sys, _punctual_pytest_plugin; print({'httpx', 'punctual_client'} & set(sys.modules))"
    assert run([sys.executable, "-c", script], HERE, PYTHONPATH=str(HERE / "src")) == "set()\n"
