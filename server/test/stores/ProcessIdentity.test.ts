import { expect, test } from "bun:test"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { hasEnded, identityOf, ownIdentity } from "../../src/stores/ProcessIdentity.ts"
import { describeUnless } from "../../testkit/describeUnless.ts"

/** On other systems no process ever counts as ended. */
const reason = process.platform === "linux" ? undefined : "only Linux can identify a process"

const idle = async (use: (child: ChildProcess, identity: string) => Promise<void>): Promise<void> => {
  const child = spawn("sleep", ["60"], { stdio: "ignore" })
  try {
    await once(child, "spawn")
    const identity = child.pid === undefined ? undefined : identityOf(child.pid)
    if (identity === undefined) throw new Error("it cannot be told")
    await use(child, identity)
  } finally {
    child.kill("SIGKILL")
  }
}

const killed = async (child: ChildProcess): Promise<void> => {
  const exit = once(child, "exit")
  child.kill("SIGKILL")
  await exit
}

describeUnless(reason, "a process", () => {
  test("lives while it runs, frozen or not, and has ended when it was killed", () =>
    idle(async (child, identity) => {
      expect(hasEnded(identity)).toBe(false)
      child.kill("SIGSTOP")
      expect(hasEnded(identity)).toBe(false)
      await killed(child)
      expect(hasEnded(identity)).toBe(true)
    }))

  test("differs from another process with the same number", () =>
    idle(async (_, identity) => {
      const [, startedTicks = ""] = /\|(\d+)$/.exec(identity) ?? []
      expect(hasEnded(identity.replace(/\d+$/, String(Number(startedTicks) - 1)))).toBe(true)
    }))

  test("of another machine is not judged, whatever its number", () =>
    idle(async (child, identity) => {
      await killed(child)
      const parts = identity.split("|")
      for (let place = 0; place < 4; place++) {
        const elsewhere = parts.map((part, index) => (index === place ? `${part}x` : part)).join("|")
        expect(hasEnded(elsewhere)).toBe(false)
      }
    }))

  test("this process lives", () => {
    expect(ownIdentity()).toBe(identityOf(process.pid))
    expect(hasEnded(ownIdentity() ?? "")).toBe(false)
  })
})

test("a text that is not an identity has not ended", () => {
  for (const text of ["", "|", "a|b|c|d|1|2", "||||0|0", "a|b|c|d|-1|2", "x"])
    expect(hasEnded(text)).toBe(false)
})
