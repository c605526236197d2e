// Every command that calls a service, with every kind of key: only the right key is let in, the others change nothing, and
// the command says why. A new command that calls a service, and a new call, must get a line here.
import { expect, setDefaultTimeout, test } from "bun:test"
import type { Action } from "@punctual/api/CallTerms"
import { contractEndpoints } from "@punctual/api/contractEndpoints"
import { defaultLimits } from "@punctual/api/Limits"
import { Completions } from "effect/cli"
import { punctualCommand } from "../../../app/src/commands.ts"
import {
  CallTable,
  callsWithoutKey,
  type DoorVerdict,
  expectedVerdict,
  keyKinds,
  type TableCall,
  verdictIn,
} from "../../testkit/CallTable.ts"
import { withService } from "../http/ServiceFixture.ts"
import { commandParts, type Ended, run } from "./CommandFixture.ts"

setDefaultTimeout(60_000)

interface Line {
  /** The words of the command, as one text, and its arguments. ID is the id of a key, JOB that of a job. */
  readonly command: string
  readonly args: ReadonlyArray<string>
  /** The calls that it cannot do without, in their order. It makes further calls if its key may. */
  readonly calls: ReadonlyArray<string>
  /** If they differ from those that the table says for the calls. */
  readonly needs?: ReadonlyArray<Action>
  /** Without this action the answer is that there is nothing with this id. */
  readonly hiddenWithout?: Action
  readonly stdin?: string
  /** It prints nothing by itself and goes on until it is stopped, so it is not tried with the right key here. */
  readonly isSilent?: true
  /** It goes on until it is stopped, which the test does after its first output. */
  readonly isEndless?: true
}

const timer = ["billing", "invoice-4711-reminder"]
const target = "http://hooks.example.com/"

const lines: ReadonlyArray<Line> = [
  line("timers create", ["billing", "new", "--delay", "1h", "--to", target], ["timers/create"]),
  {
    ...line("timers create", ["billing", "--from", "-", "--format", "jsonl"], ["timers/createMany"]),
    stdin: `${JSON.stringify({ timerId: "of-a-file", delay: "1h", callbackUrl: target })}\n`,
  },
  line("timers get", timer, ["timers/get"]),
  line("timers list", ["billing"], ["timers/list"]),
  line("timers count", ["billing"], ["timers/count"]),
  line("timers activity", [], ["timers/activity"]),
  line("timers histogram", ["billing"], ["timers/histogram"]),
  line("timers lives", timer, ["timers/lives"]),
  {
    ...line("bulk start", ["cancel", "billing", "--why", "a test", "--yes"], ["timers/count", "bulk/start"]),
    needs: ["timers.read", "timers.cancel"],
  },
  line("bulk get", ["JOB"], ["bulk/get"]),
  line("bulk list", [], ["bulk/list"]),
  { ...line("bulk abort", ["JOB"], ["bulk/abort"]), hiddenWithout: "timers.read" },
  {
    ...line("events", ["--namespace", "billing"], ["timers/list"]),
    isSilent: true,
  },
  line("timers update", [...timer, "--delay", "2h"], ["timers/update"]),
  line("timers cancel", timer, ["timers/delete"]),
  line("timers cancel", ["billing", "--all", "--yes"], ["timers/count", "timers/deleteMany"]),
  line("explain", timer, ["timers/get"]),
  line("dead list", ["billing"], ["timers/list"]),
  line("dead replay", timer, ["timers/replay"]),
  line("dead discard", timer, ["timers/discard"]),
  line("namespaces list", [], ["namespaces/list"]),
  line("namespaces get", ["billing"], ["namespaces/get"]),
  line("namespaces put", ["billing", "--max-pending", "5"], ["namespaces/put"]),
  line(
    "webhooks test",
    [target, "--namespace", "billing"],
    ["namespaces/get", "timers/create", "timers/get"],
  ),
  {
    ...line("watch", ["--namespace", "billing"], ["timers/list"]),
    isEndless: true,
  },
  // The probe needs no key.
  line("health", [], []),
  line("status", [], ["service/get"]),
  line("pause", [], ["service/pause"]),
  line("resume", [], ["service/resume"]),
  line("cluster", [], ["cluster"]),
  line("breakers list", [], ["breakers/list"]),
  line("breakers reset", ["hooks.example.com:80"], ["breakers/reset"]),
  line("egress check", [target], ["egress/check"]),
  line("clock advance", ["--to", "2029-07-01T00:00:00Z"], ["clock/advance"]),
  line("messages list", ["--namespace", "billing"], ["messages/list"]),
  line("messages show", ["--namespace", "billing", "17"], ["messages/get"]),
  line("messages replay", ["--namespace", "billing", "17"], ["messages/replay"]),
  line("messages discard", ["--namespace", "billing", "17"], ["messages/discard"]),
  line("audit", [], ["audit/list"]),
  line("keys create", ["--label", "new", "--action", "keys.manage"], ["keys/create"]),
  line("keys list", [], ["keys/list"]),
  line("keys get", ["ID"], ["keys/get"]),
  line("keys self", [], ["keys/self"]),
  line("keys rotate", ["ID"], ["keys/rotate"]),
  line("keys revoke", ["ID"], ["keys/list", "keys/revoke"]),
  line("keys confirm", ["--all", "--url", "URL"], ["keys/list", "keys/confirm"]),
  { ...line("keys revoke-leaked", ["-"], ["keys/revokeLeaked"]), stdin: "not-a-key" },
]

function line(command: string, args: ReadonlyArray<string>, calls: ReadonlyArray<string>): Line {
  return { command, args, calls }
}

/** Calls that the commands make beside those of the table: no command can do only this. */
const callsOfNoCommand = ["sessions/create", "sessions/end"]

const clockStartMs = Date.parse("2029-06-01T00:00:00Z")

interface Tried {
  readonly table: CallTable
  /** The calls of a line that need a key. */
  callsOf(line: Line): ReadonlyArray<TableCall>
  /** Runs a line with this key. */
  run(line: Line, key: string | undefined): Promise<Ended>
}

const withCommands = (use: (tried: Tried) => Promise<void>): Promise<void> =>
  withService({ clockStartMs }, async ({ url }) => {
    const table = await CallTable.over({ url, hasManualClock: true })
    const byPath = new Map(table.calls.map((call) => [call.path, call]))
    const named = byPath.get("keys/get")?.body as { readonly id: string }
    const job = byPath.get("bulk/get")?.body as { readonly jobId: string }
    const given: Readonly<Record<string, string>> = { ID: named.id, JOB: job.jobId, URL: url }
    await use({
      table,
      callsOf: ({ calls }) => calls.flatMap((path) => byPath.get(path) ?? []),
      run: async ({ command, args, stdin, isEndless }, key) => {
        let out = ""
        let stop = () => {}
        const ended = await run([...command.split(" "), ...args.map((arg) => given[arg] ?? arg)], {
          environmentUrl: url,
          environment: key === undefined ? {} : { TIMER_API_KEY: key },
          ...(stdin === undefined ? {} : { stdin }),
          out: async (text) => {
            out += text
            if (isEndless === true) stop()
          },
          onStop: (asked) => {
            stop = asked
            return () => {}
          },
        })
        return { ...ended, out }
      },
    })
  })

const verdictOfCommand = ({ out, err }: Ended): DoorVerdict =>
  /unauthorized|forbidden|The key needs/.test(out + err) ? verdictIn(out + err) : "letIn"

/** What the first of these calls that is refused says. */
const expectedOf = (kind: (typeof keyKinds)[number], calls: ReadonlyArray<TableCall>): DoorVerdict =>
  calls.map((call) => expectedVerdict(kind, call)).find((verdict) => verdict !== "letIn") ?? "letIn"

const needsOf = ({ needs }: Line, calls: ReadonlyArray<TableCall>): ReadonlyArray<Action> => [
  ...new Set(needs ?? calls.flatMap((call) => call.needs)),
]

test("every command that calls a service, and every call of the contract, has a line in this table", () => {
  const input = { environment: {}, stdin: async function* () {} }
  const leaves = (
    { name, flags, subcommands }: Completions.CommandDescriptor,
    path: ReadonlyArray<string>,
  ): ReadonlyArray<string> => {
    const words = [...path, name]
    const own = flags.some((flag) => flag.name === "url") ? [words.slice(1).join(" ")] : []
    // Another name of messages.
    if (name === "dlq") return []
    return [...own, ...subcommands.flatMap((below) => leaves(below, words))]
  }
  const commands = leaves(Completions.fromCommand(punctualCommand(commandParts({ input }))), [])
  expect([...new Set(lines.map(({ command }) => command))].toSorted()).toEqual([...commands].toSorted())
  const calls = contractEndpoints(defaultLimits).map(({ path }) => path.replace("/api/v1/", ""))
  const made = new Set([...lines.flatMap((one) => one.calls), ...callsOfNoCommand])
  expect(calls.filter((path) => !made.has(path))).toEqual([])
})

test("no command changes anything with a key that is missing or not right, and each says why", () =>
  withCommands(async ({ table, callsOf, run }) => {
    const before = await table.state()
    for (const one of lines.filter(({ calls }) => !calls.some((path) => callsWithoutKey.includes(path)))) {
      const calls = callsOf(one)
      for (const kind of ["none", "wrong", "expired", "revoked", "otherNamespace"] as const) {
        const ended = await run(one, await table.keyOf(kind, []))
        const seen = [one.command, kind, verdictOfCommand(ended)]
        const expected = expectedOf(kind, calls)
        expect(seen).toEqual([one.command, kind, expected])
        if (expected !== "letIn") expect([...seen, ended.exitCode]).toEqual([...seen, 1])
      }
      for (const action of needsOf(one, calls)) {
        const ended = await run(one, await table.keyOf("missingAction", [action]))
        expect([one.command, verdictOfCommand(ended), ended.exitCode]).toEqual([
          one.command,
          one.hiddenWithout === action ? "letIn" : `needs ${action}`,
          1,
        ])
      }
    }
    expect(await table.state()).toEqual(before)
  }))

test("every command lets a key do its work that has only the rights for it", () =>
  withCommands(async ({ table, callsOf, run }) => {
    const before = await table.state()
    for (const one of lines.filter(({ isSilent }) => isSilent !== true)) {
      const actions = needsOf(one, callsOf(one))
      const ended = await run(one, await table.keyWith(actions.length === 0 ? ["timers.read"] : actions))
      expect([one.command, verdictOfCommand(ended), ended.err]).toEqual([one.command, "letIn", ended.err])
    }
    expect(await table.state()).not.toEqual(before)
  }))

test("a command that needs no key answers the same with every kind of key", () =>
  withCommands(async ({ table, run }) => {
    for (const one of lines.filter(({ calls }) => calls.some((path) => callsWithoutKey.includes(path)))) {
      const answers = new Set<string>()
      for (const kind of keyKinds) answers.add(JSON.stringify(await run(one, await table.keyOf(kind, []))))
      expect([one.command, answers.size]).toEqual([one.command, 1])
    }
  }))

test("a key that may not read the clock of the service uses that of the machine, and the command says so", () =>
  withCommands(async ({ table, run }) => {
    const inOneLine = (text: string) => text.split("\n")[0]
    const said =
      "The key may not read the clock of the service (service.read), so the command uses the clock of this machine."
    const key = await table.keyWith(["timers.read", "timers.write", "dead.replay"])
    for (const one of [
      lines.find(({ calls }) => calls.includes("timers/createMany")),
      line("dead replay", ["billing", "--all"], []),
    ]) {
      if (one === undefined) throw new Error("no command creates many timers")
      const ended = await run(one, key)
      expect([one.command, ended.exitCode, inOneLine(ended.err)]).toEqual([one.command, 0, said])
      expect((await run(one, table.adminKey)).err).not.toContain("clock")
    }
  }))
