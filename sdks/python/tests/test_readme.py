"""Every block of the README does what the README says."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from needed import needs
from punctual_client.testing import TestService

HERE = Path(__file__).parent.parent
README = (HERE / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(
    r"(?:^<!-- (?P<note>[^\n]+) -->\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


def blocks() -> list[re.Match[str]]:
    return list(BLOCK.finditer(README))


def programs() -> Iterator[tuple[str, str]]:
    """Pair each program with what it prints."""
    found = blocks()
    for at, block in enumerate(found):
        if block["language"] == "python" and block["note"] is None:
            assert at + 1 < len(found), block["text"]
            assert found[at + 1]["note"] == "printed by: the program above", block["text"]
            yield block["text"], found[at + 1]["text"]


@pytest.fixture(scope="module")
def service() -> Iterator[TestService]:
    with TestService() as started:
        yield started


def run_python(args: list[str], folder: Path, url: str) -> subprocess.CompletedProcess[str]:
    settings = {"TIMER_URL": url, "TIMER_API_KEY": "", "PYTHONPATH": str(HERE / "src")}
    return subprocess.run(
        [sys.executable, *args],
        cwd=folder,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@needs("PUNCTUAL_EXECUTABLE")
@pytest.mark.parametrize(("program", "printed"), list(programs()), ids=itertools.count(1))
def test_a_program_prints_what_the_readme_says(
    program: str, printed: str, tmp_path: Path, service: TestService
) -> None:
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    ended = run_python(["program.py"], tmp_path, service.url)
    assert (ended.returncode, ended.stdout) == (0, printed), ended.stderr


@needs("PUNCTUAL_EXECUTABLE")
def test_the_test_for_pytest_passes(tmp_path: Path) -> None:
    [block] = [block for block in blocks() if block["note"] == "a test for pytest"]
    (tmp_path / "test_trial.py").write_text(block["text"], encoding="utf-8")
    plugin = ["-p", "_punctual_pytest_plugin", "-p", "no:cacheprovider"]
    ended = run_python(["-m", "pytest", "--quiet", *plugin, "test_trial.py"], tmp_path, "")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "1 passed" in ended.stdout


@needs("PUNCTUAL_PYTHON_WHEELS")
def test_the_strictest_checker_accepts_every_program(tmp_path: Path) -> None:
    python = [block["text"] for block in blocks() if block["language"] == "python"]
    # Django has no types, and reading those of FastAPI takes long.
    checked = [text for text in python if "django" not in text and "fastapi" not in text]
    for number, text in enumerate(checked):
        (tmp_path / f"program_{number}.py").write_text(text, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(HERE / "src")},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_every_block_is_run() -> None:
    others = {"text": len(list(programs())), "python": len(list(programs())) + 1}
    counts = {language: [block["language"] for block in blocks()].count(language) for language in others}
    assert counts == others
    assert len(blocks()) == sum(others.values()) == README.count("\n```") / 2


def test_every_link_leads_to_a_file() -> None:
    targets = re.findall(r"\]\(([^)]+)\)", README)
    assert targets
    assert [target for target in targets if not target.startswith("https://") and not (HERE / target).is_file()] == []
