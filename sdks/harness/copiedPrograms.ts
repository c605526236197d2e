// The programs that the console copies ("Copy as Go"), run as they are: they must compile with the client library and do
// what the form would have done. `bun copiedPrograms.ts go FOLDER COMMAND ARGS…` writes each program as FOLDER/main.go,
// runs the command there, and compares the timer of the service with the call. Each program counts as one line.
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Punctual } from "@punctual/client"
import { TestService } from "@punctual/client/testing"
import {
  type CallToCopy,
  type Members,
  membersOfObject,
  type ServiceToCall,
} from "../../web/console/copy/copyAs.ts"
import { goText } from "../../web/console/copy/goText.ts"
import { javaText } from "../../web/console/copy/javaText.ts"
import { pythonText } from "../../web/console/copy/pythonText.ts"

type Text = (call: CallToCopy, service: ServiceToCall) => string | undefined

const languages: Readonly<Record<string, { readonly file: string; readonly text: Text }>> = {
  go: { file: "main.go", text: goText },
  java: { file: "Main.java", text: javaText },
  python: { file: "main.py", text: pythonText },
}

const key = (timerId: string) => ({ namespace: "shop", timerId })
const withPayload = (fields: object, payload: string): Members =>
  new Map([...membersOfObject(fields), ["payload", payload]])

interface Copied {
  readonly path: string
  readonly members: Members
  /** What the timer must be afterwards. */
  readonly expected: Readonly<Record<string, unknown>>
  /** A part of the text of the answer of `get`. */
  readonly contains?: string
}

const nasty = `-0 'it"s' \`$HOME\` \\ ü 火 😀`
const big =
  '{"n": 12345678901234567890123, "f": 1.10, "quote": "it\'s", "u": "\\u2028\\u0001", "x": [true, null]}'
const webhook = {
  type: "webhook",
  url: "https://example.com/hook",
  method: "PUT",
  headers: { "x-team": `a "b" \\c` },
  timeout: "30s",
  body: "payload",
}

const copied: ReadonlyArray<Copied> = [
  {
    path: "timers/create",
    members: membersOfObject({ ...key("plain"), delay: "1h30m", callbackUrl: "https://example.com/" }),
    expected: { state: "pending", target: { url: "https://example.com/" } },
  },
  {
    path: "timers/create",
    members: withPayload(
      {
        ...key("whole"),
        executeAt: "2031-02-03T04:05:06.789+01:00",
        target: webhook,
        retryPolicy: {
          maxAttempts: 3,
          initialInterval: "2s",
          backoffMultiplier: 1.5,
          maxInterval: "1h",
        },
        expireAfter: "7d",
        onExpire: "drop",
        onDead: { type: "webhook", url: "https://example.com/dead" },
        correlationId: nasty,
        tags: ["a", nasty],
        onExisting: "keep",
      },
      big,
    ),
    expected: {
      executeAt: "2031-02-03T03:05:06.789Z",
      target: webhook,
      retryPolicy: { maxAttempts: 3, backoffMultiplier: 1.5 },
      onExpire: "drop",
      correlationId: nasty,
      tags: ["a", nasty],
    },
    contains: `"payload":${big}`,
  },
  {
    path: "timers/create",
    members: withPayload(
      {
        ...key("waits"),
        delay: "250ms",
        target: { type: "webhook", url: "https://example.com/" },
        retryPolicy: { waits: ["1s", "2m"] },
      },
      '{"plain": [1, 2.5, "a"]}',
    ),
    expected: { payload: { plain: [1, 2.5, "a"] } },
  },
  {
    path: "timers/create",
    members: membersOfObject({
      ...key("jitter"),
      delay: "PT90S",
      callbackUrl: "https://example.com/",
      retryPolicy: { jitter: 0 },
    }),
    expected: { retryPolicy: { jitter: 0 } },
  },
  {
    path: "timers/update",
    members: withPayload(
      { ...key("whole"), delay: "2d", tags: null, expireAfter: null, onDead: null },
      "null",
    ),
    expected: { tags: [], payload: undefined, expireAfter: undefined },
  },
  { path: "timers/get", members: membersOfObject(key("whole")), expected: { state: "pending" } },
  { path: "timers/delete", members: membersOfObject(key("whole")), expected: { state: "cancelled" } },
]

const differences = (expected: Readonly<Record<string, unknown>>, found: unknown): ReadonlyArray<string> =>
  Object.entries(expected).flatMap(([name, value]) => {
    const member = (found as Record<string, unknown> | undefined)?.[name]
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return differences(value as Record<string, unknown>, member).map((text) => `${name}.${text}`)
    if (name === "executeAt") {
      const isSame = new Date(String(member)).getTime() === new Date(String(value)).getTime()
      return isSame ? [] : [`${name} is ${JSON.stringify(member)}`]
    }
    const isEmpty = Array.isArray(value) && value.length === 0 && member === undefined
    return isEmpty || JSON.stringify(member) === JSON.stringify(value)
      ? []
      : [`${name} is ${JSON.stringify(member)}`]
  })

const [language = "", folder = "", command = "", ...args] = process.argv.slice(2)
const { file, text } = languages[language] ?? { file: "", text: () => undefined }
if (file === "" || command === "") throw new Error("copiedPrograms.ts LANGUAGE FOLDER COMMAND ARGS…")

mkdirSync(folder, { recursive: true })
await using service = await TestService.start()
const punctual = new Punctual({ url: service.url })
let failed = 0
for (const { path, members, expected, contains = "" } of copied) {
  const program = text({ path, members }, { url: service.url, needsKey: false }) ?? ""
  writeFileSync(join(folder, file), `${program}\n`)
  const { exitCode, stdout, stderr } = Bun.spawnSync([command, ...args], { cwd: folder })
  const id = JSON.parse(members.get("timerId") ?? "null") as string
  const answer = await punctual
    .exchange("timers.get", key(id))
    .catch((error: unknown) => ({ text: "", error }))
  const timer = (answer.text === "" ? {} : JSON.parse(answer.text).timer) as Record<string, unknown>
  const wrong = [
    ...(exitCode === 0 ? [] : [`the program ended with code ${exitCode}`]),
    ...differences(expected, timer),
    ...(answer.text.includes(contains) ? [] : [`the answer lacks ${contains}`]),
  ]
  if (wrong.length > 0) failed++
  process.stdout.write(`${wrong.length === 0 ? "ok" : "FAILED"} ${language} ${path} ${id}\n`)
  if (wrong.length > 0) process.stdout.write(`${wrong.join("\n")}\n${program}\n${stdout}${stderr}\n`)
}
process.exitCode = failed === 0 ? 0 : 1
