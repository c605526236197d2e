// How the Python client is checked. tools/dev.py runs each program with pinned tools, which it installs once.
import { fileURLToPath } from "node:url"
import { type ClientChecks, type ClientStep, isAtLeast } from "../../scripts/clientChecks.ts"

const step = (title: string, ...args: ReadonlyArray<string>): ClientStep => ({
  title,
  command: "python3",
  args: ["tools/dev.py", ...args],
})

export const pythonChecks: ClientChecks = {
  name: "Python",
  folder: "sdks/python",
  tools: [
    {
      name: "Python 3.10 or newer, with venv and pip",
      command: "python3",
      args: ["-c", "import ensurepip, platform, venv; print(platform.python_version())"],
      isGood: (output) => isAtLeast(/[\d.]+/.exec(output)?.[0], "3.10"),
    },
  ],
  prepare: [step("install the tools", "--version")],
  steps: [
    step("format", "-m", "ruff", "format", "--check", "--quiet", "."),
    step("lint", "-m", "ruff", "check", "--quiet", "."),
    step("the async client is that of the sync one", "tools/make_async.py", "--check"),
    step("types (mypy)", "-m", "mypy"),
    step("types (pyright)", "-m", "pyright"),
    {
      ...step("tests", "-m", "pytest", "--quiet", "--junit-xml=reports/tests.xml"),
      report: { junit: "reports" },
    },
    {
      title: "the programs that the console copies as Python",
      command: process.execPath,
      args: [
        "../harness/copiedPrograms.ts",
        "python",
        "reports/copied",
        "python3",
        "../../tools/dev.py",
        "main.py",
      ],
      // The programs import the sources.
      env: { PYTHONPATH: fileURLToPath(new URL("src", import.meta.url)) },
    },
  ],
}
