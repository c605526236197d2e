// `punctual completion`: the scripts know the whole tree. The bash script is tried in a real bash, where there is one.
import { expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { run } from "../../server/test/cli/CommandFixture.ts"
import { describeUnless } from "../../server/testkit/describeUnless.ts"

const reason = spawnSync("bash", ["--version"]).status === 0 ? undefined : "no bash"

const scriptFor = async (shell: string): Promise<string> => {
  const { exitCode, out, err } = await run(["completion", shell])
  expect([exitCode, err]).toEqual([0, ""])
  return out
}

/** What bash offers for a line with the cursor at its end. */
const offered = (script: string, line: string): ReadonlyArray<string> => {
  const words = line.split(" ")
  const asked = `${script}
COMP_LINE=${JSON.stringify(line)}
COMP_POINT=\${#COMP_LINE}
COMP_WORDS=(${words.map((word) => JSON.stringify(word)).join(" ")})
COMP_CWORD=${words.length - 1}
$(complete -p punctual | sed 's/.*-F \\([^ ]*\\).*/\\1/') punctual ${JSON.stringify(words.at(-1) ?? "")} ${JSON.stringify(words.at(-2) ?? "")}
printf '%s\\n' "\${COMPREPLY[@]}"
`
  const { status, stdout, stderr } = spawnSync("bash", ["--norc", "--noprofile"], {
    input: asked,
    encoding: "utf8",
  })
  expect([status, stderr]).toEqual([0, ""])
  return stdout.split("\n").filter((word) => word !== "")
}

describeUnless(reason, "in bash", () => {
  test("commands, sub-commands, flags and their choices are completed", async () => {
    const script = await scriptFor("bash")
    expect(offered(script, "punctual ")).toEqual(
      expect.arrayContaining(["timers", "dead", "completion", "doctor"]),
    )
    expect(offered(script, "punctual na")).toEqual(["namespaces"])
    expect(offered(script, "punctual timers ").toSorted()).toEqual(
      ["activity", "cancel", "count", "create", "get", "histogram", "list", "lives", "update"].toSorted(),
    )
    expect(offered(script, "punctual timers create billing --de")).toEqual(["--delay"])
    expect(offered(script, "punctual timers list --state d")).toEqual(["delivered", "dead"])
    expect(offered(script, "punctual completion ")).toEqual(["bash", "zsh", "fish"])
    expect(offered(script, "punctual dead replay --he")).toEqual(["--help"])
  })
})

test("every shell's script says how to load it, and knows the deepest command", async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const script = await scriptFor(shell)
    expect(script).toContain(`punctual completion ${shell}`)
    expect(script).not.toContain("--completions")
    expect(script).toContain("creates-per-second")
  }
})

test("other shells have no script", async () => {
  for (const args of [[], ["tcsh"]]) expect((await run(["completion", ...args])).exitCode).toBe(2)
})
