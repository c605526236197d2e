// Commands that readers copy from the console: the shell passes every value on unchanged, and the service understands it.
import { expect, setDefaultTimeout, test } from "bun:test"
import { spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { withService } from "../../server/test/http/ServiceFixture.ts"
import { TemporaryFolder } from "../../server/testkit/TemporaryFolder.ts"
import {
  type CallToCopy,
  commandText,
  curlText,
  type Members,
  membersOfObject,
  requestText,
} from "../console/copy/copyAs.ts"
import { callForms } from "../console/copy/copyForms.ts"
import { goText } from "../console/copy/goText.ts"
import { typescriptText } from "../console/copy/typescriptText.ts"
import { shellWord } from "../kit/shellWord.ts"

setDefaultTimeout(60_000)

const client = fileURLToPath(new URL("../../sdks/typescript/src/index.ts", import.meta.url))
const main = fileURLToPath(new URL("../../app/src/main.ts", import.meta.url))

/** Runs a text in a shell and returns what it prints. */
const runShell = async (text: string, environment: Record<string, string> = {}): Promise<string> => {
  const shell = spawn("sh", ["-c", text], {
    env: { PATH: process.env["PATH"] ?? "", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  })
  let [out, problems] = ["", ""]
  shell.stdout.setEncoding("utf8").on("data", (part: string) => {
    out += part
  })
  shell.stderr.setEncoding("utf8").on("data", (part: string) => {
    problems += part
  })
  const code = await new Promise((ended) => shell.on("close", ended))
  if (code !== 0) throw new Error(`exit code ${code}: ${problems}`)
  return out
}

const nasty = [
  "plain",
  "it's",
  '$(touch x) `id` "$HOME" \\ !x',
  "-rf",
  "--help",
  "--",
  "a b\tc",
  "*?[a-z]~#&|;<>(){}",
  "'; rm -rf /; '",
  "ä 日本 🙂",
  "=x",
  "%00",
  "\\'",
  "''",
]

test("a quoted word reaches the program as it is, whatever it contains", async () => {
  const texts = [...nasty, "two\nlines", "", "\\\n"]
  const printed = await runShell(`printf '%s\\0' ${texts.map(shellWord).join(" ")}`)
  expect(printed.split("\0").slice(0, -1)).toEqual(texts)
})

const service = { url: "http://127.0.0.1:8080", needsKey: false }

/** The words that a command gets, when the shell runs the text. */
const wordsOf = async (program: string, text: string): Promise<ReadonlyArray<string>> =>
  (await runShell(`${program}() { printf '%s\\0' "$@"; }\n${text}`, { TIMER_API_KEY: "pnct_secret" }))
    .split("\0")
    .slice(0, -1)

const createOf = (timerId: string, payload: string): CallToCopy => ({
  path: "timers/create",
  members: new Map([
    ...membersOfObject({ namespace: "shop", timerId, delay: "1h", tags: nasty.slice(0, 3) }),
    ["payload", payload],
  ]),
})

test("curl gets the request as the form sends it", async () => {
  for (const id of nasty) {
    const call = createOf(id, JSON.stringify({ id }))
    const words = await wordsOf("curl", curlText(call, service))
    expect(words[1]).toBe("http://127.0.0.1:8080/api/v1/timers/create")
    expect(words.at(-2)).toBe("--data-raw")
    expect(words.at(-1)).toBe(requestText(call.members))
    expect(JSON.parse(words.at(-1) ?? "").timerId).toBe(id)
  }
})

test("with keys in force the commands read the key from the environment, and do not contain one", async () => {
  const call = createOf("a", "1")
  const keyed = { ...service, needsKey: true }
  expect(curlText(call, keyed)).toContain('"authorization: Bearer $TIMER_API_KEY"')
  expect(await wordsOf("curl", curlText(call, keyed))).toContain("authorization: Bearer pnct_secret")
  expect(curlText(call, service)).not.toContain("authorization")
  expect(commandText(call, keyed)).toContain("# The command reads the key from TIMER_API_KEY.")
})

test("there are commands for the calls about one timer, and none for others", () => {
  const members = membersOfObject({ namespace: "shop", timerId: "a" })
  expect(commandText({ path: "timers/get", members }, service)).toStartWith("punctual timers get shop a")
  expect(commandText({ path: "timers/delete", members }, service)).toStartWith(
    "punctual timers cancel shop a",
  )
  expect(commandText({ path: "timers/no-such", members }, service)).toBeUndefined()
})

const big = '{"n": 12345678901234567890123, "quote": "it\'s"}'

test("the program for create does what the form would do, with any value", () =>
  withService({}, async ({ url, call }) => {
    using folder = new TemporaryFolder()
    const proto = '{"__proto__":{"a":1},"u":"\\u2028"}'
    for (const [index, payload] of [big, proto, '{"plain": [1, 2.5, "it\'s `$x`"]}'].entries()) {
      const key = { namespace: "shop", timerId: `-${index} '\`$HOME\`"\\` }
      const members = new Map([
        ...membersOfObject({
          ...key,
          delay: "1h",
          callbackUrl: "https://example.com/",
          tags: nasty.slice(0, 3),
        }),
        ["payload", payload],
      ])
      const text = typescriptText({ path: "timers/create", members }, { url, needsKey: false })
      const file = join(folder.path, `program-${index}.ts`)
      // The program is in another folder than the client.
      writeFileSync(file, String(text).replace("@punctual/client", client))
      expect(await runShell(`"${process.execPath}" "${file}"`)).toContain("created")
      const made = await call("get", key)
      expect(JSON.stringify(made.json.timer.payload)).toBe(JSON.stringify(JSON.parse(payload)))
      if (payload === big) expect(made.text).toContain(`"payload":${big}`)
      expect(made.json.timer.tags).toEqual(nasty.slice(0, 3))
    }
  }))

test("there are programs for the calls about one timer, and the key comes from the environment", () => {
  const members = membersOfObject({ namespace: "shop", timerId: "a" })
  const keyed = typescriptText({ path: "timers/delete", members }, { ...service, needsKey: true })
  expect(keyed).toContain("punctual.timers.cancel({")
  expect(keyed).toContain("// The client reads the key from TIMER_API_KEY.")
  expect(typescriptText({ path: "timers/no-such", members }, service)).toBeUndefined()
})

test("every form names the call, has no key in it, and says where the key comes from", () => {
  const members = membersOfObject({ namespace: "shop", timerId: "a" })
  const keyed = { ...service, needsKey: true }
  for (const { label, text } of callForms) {
    const [known, unknown] = ["timers/get", "timers/no-such"].map((path) => text({ path, members }, keyed))
    expect([label, known?.includes("TIMER_API_KEY")]).toEqual([label, true])
    // Every call can be sent by curl.
    expect([label, unknown === undefined]).toEqual([label, label !== "curl"])
  }
})

test("a Go program sends text that is no duration as it is, so that the service says what is wrong", () => {
  const members = membersOfObject({ namespace: "shop", timerId: "a", delay: "soon" })
  const text = goText({ path: "timers/create", members }, service)
  expect(text).toContain('client.Do(context.Background(), "timers.create", json.RawMessage(`{')
  expect(text).toContain('"delay": "soon"')
})

test("the commands for create and update do what the form would do, with ids that look like options", () =>
  withService({}, async ({ url, call }) => {
    const run = (path: string, members: Members) =>
      runShell(
        `punctual() { "${process.execPath}" "${main}" "$@"; }\n${commandText({ path, members }, { url, needsKey: false })}`,
      )
    const key = { namespace: "shop", timerId: "--it's $HOME" }
    const target = { type: "webhook", url: "https://example.com/'x'", headers: { "x-a": "$(id)" } }
    const tags = ["-x", "a'b", "c,d"]
    const fields = { ...key, delay: "1h", target, tags, retryPolicy: { waits: ["1m", "5m"] }, onDead: target }
    await run("timers/create", new Map([...membersOfObject(fields), ["payload", big]]))
    const made = await call("get", key)
    expect(made.text).toContain(`"payload":${big}`)
    const { timer } = made.json
    expect(timer).toMatchObject({ tags, target, onDead: target, retryPolicy: { waits: ["1m", "5m"] } })
    await run(
      "timers/update",
      new Map([
        ...membersOfObject({ ...key, expireAfter: "5m", onExpire: "drop", ifRevision: timer.revision }),
        ["tags", "null"],
      ]),
    )
    const after = (await call("get", key)).json.timer
    expect([after.tags, after.onExpire]).toEqual([undefined, "drop"])
  }))
