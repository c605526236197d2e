"""Make the async client from the sync one, so that there is one text to maintain.

`python tools/make_async.py` writes the files, and `--check` only says whether they are what it would write.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src" / "punctual_client"
NAMES = ("client", "driver", "group", "operators", "paging", "timers")

CLASSES = [
    "Audit",
    "Breakers",
    "Bulk",
    "Driver",
    "Egress",
    "Events",
    "Group",
    "Keys",
    "ManualClock",
    "Messages",
    "Namespaces",
    "Paged",
    "Punctual",
    "Service",
    "Sessions",
    "Timers",
]

# The calls that become awaits, and what changes its name. The order matters.
REPLACEMENTS = (
    (rf"(?<![\w.`])({'|'.join(CLASSES)})(?=[\[(:,\n)]| \||$)", r"Async\1"),
    (r"httpx\.Client\b", "httpx.AsyncClient"),
    (r"\bIterator\b", "AsyncIterator"),
    (r"\bGenerator\b", "AsyncGenerator"),
    (r"AsyncGenerator\[StreamEvent, None, None\]", "AsyncGenerator[StreamEvent, None]"),
    (r"(?<!def )(self\._run\(|self\._driver\.run\(|self\.run\(|self\.page\(|self\._send\()", r"await \1"),
    (r"(?<!def )(?<!\w)(_text_of\(|called\()", r"await \1"),
    (r"clock\.sleep\(", "clock.sleep_async("),
    (r"(connection\.settings\.clock\.sleep_async)", r"await \1"),
    (r"with self\.http\.stream", "async with self.http.stream"),
    (r"for (\w+) in response\.iter_", r"async for \1 in response.aiter_"),
    (r"for (\w+) in self\.pages\(\)", r"async for \1 in self.pages()"),
    (r"for item in paged", "async for item in paged"),
    (r"self\._driver\.http\.close\(\)", "await self._driver.http.aclose()"),
    (r"self\.close\(\)", "await self.aclose()"),
    (r"def close\b", "def aclose"),
    (r"def __enter__", "async def __aenter__"),
    (r"def __exit__", "async def __aexit__"),
    (r"def __iter__", "def __aiter__"),
    (r"a `with` statement", "an `async with` statement"),
    (r"a sync client", "an async client"),
    (r"with AsyncPunctual", "async with AsyncPunctual"),
    (r"        punctual\.timers\.create", "        await punctual.timers.create"),
    (r"Threads can share it", "The tasks of one event loop can share it"),
    (r"  # noqa: UP028[^\n]*", ""),
)


def async_form(source: str, name: str) -> str:
    """Return the async form of a module."""
    for pattern, new in REPLACEMENTS:
        source = re.sub(pattern, new, source, flags=re.MULTILINE)
    lines = source.split("\n")
    for at, line in enumerate(lines):
        head = re.match(r"( *)def ", line)
        if head is not None and _awaits(lines, at, len(head[1])):
            lines[at] = line.replace("def ", "async def ", 1)
    text = "\n".join(lines)
    return _formatted(f"# tools/make_async.py made this file from _sync/{name}.py: change that file.\n{text}")


def _formatted(text: str) -> str:
    formatter = [sys.executable, "-m", "ruff", "format", "-"]
    return subprocess.run(formatter, input=text, capture_output=True, text=True, check=True).stdout  # noqa: S603


def _awaits(lines: list[str], start: int, indent: int) -> bool:
    for line in lines[start + 1 :]:
        if line.strip() and not line.startswith(" " * (indent + 1)) and not line.lstrip().startswith(")"):
            return False
        if re.search(r"\bawait |\basync (for|with) ", line) and "`" not in line and "punctual.timers" not in line:
            return True
    return False


def main() -> int:
    """Write the files, or compare them."""
    different = 0
    for name in NAMES:
        made = async_form((PACKAGE / "_sync" / f"{name}.py").read_text(), name)
        file = PACKAGE / "_async" / f"{name}.py"
        if "--check" not in sys.argv:
            file.write_text(made)
        elif not file.exists() or file.read_text() != made:
            different += 1
            sys.stderr.write(f"{file} is not the async form of _sync/{name}.py: run tools/make_async.py\n")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
