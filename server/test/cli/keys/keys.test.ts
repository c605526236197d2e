// `punctual keys` against a service in the same process: the text of a key goes to stdout alone, and a key does what its
// flags say.
import { afterAll, describe, expect, test } from "bun:test"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Documents } from "@punctual/documents/Documents"
import { DoorRecords } from "@punctual/door/DoorRecords"
import { KeyDirectory } from "@punctual/door/KeyDirectory"
import { idOfKey } from "@punctual/door/KeyText"
import { fullRights } from "@punctual/door/Rights"
import { Effect } from "effect"
import { modeOf } from "../../../testkit/fileModes.ts"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"
import { type RunningService, withService } from "../../http/ServiceFixture.ts"
import { type Ended, rowsOf, run } from "../CommandFixture.ts"

const folder = new TemporaryFolder()
afterAll(() => folder[Symbol.dispose]())

let files = 0
const freshFile = (content?: string): string => {
  const path = join(folder.path, `file-${++files}`)
  if (content !== undefined) writeFileSync(path, content)
  return path
}

/** A service that has had its first key, and how to run commands with this key or another. */
interface Keyed {
  readonly service: RunningService
  readonly adminKey: string
  keys(...args: ReadonlyArray<string>): Promise<Ended>
  as(key: string, ...args: ReadonlyArray<string>): Promise<Ended>
}

const withKeys = (use: (keyed: Keyed) => Promise<void>): Promise<void> => {
  let adminKey = ""
  const before = Effect.gen(function* () {
    const keys = yield* KeyDirectory
    const made = yield* keys.create({ ...fullRights, label: "first", madeBy: "test" }, Date.now())
    adminKey = made.text
  }).pipe(Effect.orDie)
  return withService({ before }, (service) => {
    const as = (key: string, ...args: ReadonlyArray<string>) =>
      run(args, { environmentUrl: service.url, environment: { TIMER_API_KEY: key } })
    return use({ service, adminKey, as, keys: (...args) => as(adminKey, "keys", ...args) })
  })
}

/** A key that the command printed. */
const made = ({ exitCode, out, err }: Ended): string => {
  if (exitCode !== 0) throw new Error(err)
  return out.trimEnd()
}

describe("punctual keys create", () => {
  test("prints the key to stdout alone, and the key may do what its role says, where it says", () =>
    withKeys(async ({ keys, as }) => {
      const ended = await keys("create", "--label", "billing", "--role", "app", "--namespace", "billing")
      const key = made(ended)
      const id = idOfKey(key)
      expect(ended.out).toBe(`${key}\n`)
      expect(ended.err).toBe(
        `Made ${id} (billing): app in billing. This is the only time that the key is shown.\n`,
      )
      expect((await as(key, "timers", "count", "billing")).exitCode).toBe(0)
      expect((await as(key, "timers", "count", "orders")).err).toContain(
        "refused (forbidden): The key needs the action timers.read in the namespace orders.",
      )
      expect((await as(key, "keys", "list")).exitCode).toBe(1)
    }))

  test("takes several actions and namespaces, and an end", () =>
    withKeys(async ({ keys }) => {
      const actions = ["--action", "timers.read", "--action", "dead.replay"]
      const namespaces = ["--namespace", "a", "--namespace", "team-*"]
      const args = ["--label", "x", ...actions, ...namespaces, "--expires-in", "90d", "--json"]
      const { key, apiKey } = JSON.parse(made(await keys("create", ...args)))
      expect(idOfKey(apiKey)).toBe(key.id)
      expect(key).toMatchObject({ actions: ["timers.read", "dead.replay"], namespaces: ["a", "team-*"] })
      expect(Date.parse(key.expiresAt) - Date.parse(key.createdAt)).toBe(90 * 86_400_000)
      const until = "2100-01-01T00:00:00.000Z"
      const later = await keys("create", "--label", "y", "--role", "viewer", "--expires-at", until, "--json")
      expect(JSON.parse(later.out).key.expiresAt).toBe(until)
    }))

  test("writes the key to a new file that only its owner can read", () =>
    withKeys(async ({ keys, as }) => {
      const file = freshFile()
      const ended = await keys("create", "--label", "b", "--role", "app", "--key-out", file)
      const key = readFileSync(file, "utf8").trim()
      expect([ended.exitCode, ended.out, modeOf(file)]).toEqual([0, "", "600"])
      expect(ended.err).toContain(`The key is in ${file}.`)
      expect(ended.err).not.toContain(key)
      expect((await as(key, "keys", "self")).exitCode).toBe(0)
      const asJson = await keys("create", "--label", "c", "--role", "app", "--key-out", freshFile(), "--json")
      expect(Object.keys(JSON.parse(asJson.out))).toEqual(["key", "keyFile"])
    }))

  test("makes no key if the file exists, and leaves no file if the service refuses", () =>
    withKeys(async ({ keys, as }) => {
      const taken = freshFile("mine")
      const over = await keys("create", "--label", "b", "--role", "app", "--key-out", taken)
      expect([over.exitCode, over.err]).toEqual([1, expect.stringContaining("No key was made.")])
      expect(readFileSync(taken, "utf8")).toBe("mine")
      const viewer = made(await keys("create", "--label", "v", "--role", "viewer"))
      const file = freshFile()
      const args = ["keys", "create", "--label", "b", "--role", "app", "--key-out", file]
      expect((await as(viewer, ...args)).exitCode).toBe(1)
      expect(existsSync(file)).toBe(false)
      expect(rowsOf((await keys("list")).out).map(([, label]) => label)).toEqual(["LABEL", "v", "first"])
    }))

  test("refuses unclear rights before it calls anything", async () => {
    const wrong = [
      [["--label", "a"], "Say what the key may do"],
      [["--label", "a", "--role", "app", "--action", "timers.read"], "Say what the key may do"],
      [["--role", "app"], "Say what the key is for: --label."],
      [["--admin", "--role", "app"], "Say what the key may do"],
      [["--admin", "--namespace", "a"], "--admin is for all namespaces"],
      [["--admin", "--url", "http://127.0.0.1:1"], "use --role admin"],
      [["--admin", "--expires-in", "1h", "--expires-at", "2100-01-01T00:00:00Z"], "Give only one of"],
      [["--label", "a", "--role", "app", "--direct", "--store", "sqlite:x"], "Give only one of --url"],
      [["--label", "a", "--role", "king"], "--role"],
    ] as const
    for (const [args, words] of wrong) {
      const { exitCode, out, err } = await run(["keys", "create", ...args])
      expect([args, exitCode, out, err]).toEqual([args, 2, "", expect.stringContaining(words)])
    }
  })
})

describe("punctual keys", () => {
  test("list shows every key once over several pages, and no text of a key", () =>
    withKeys(async ({ keys, adminKey }) => {
      const texts = [adminKey]
      for (const label of ["a", "b", "c"])
        texts.push(made(await keys("create", "--label", label, "--role", "app")))
      const all = await keys("list", "--all", "--json")
      const labels = all.out
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).label)
      expect(labels.toSorted()).toEqual(["a", "b", "c", "first"])
      const first = await keys("list", "--limit", "3")
      const cursor = /--cursor=(\S+)/.exec(first.err)?.[1] ?? ""
      const second = await keys("list", "--cursor", cursor)
      expect([first, second].map(({ out }) => rowsOf(out).length)).toEqual([4, 2])
      const id = idOfKey(texts[1] ?? "") ?? ""
      const shown = await keys("get", id)
      expect(shown.out).toMatch(/^label +a$/m)
      for (const text of texts) expect(all.out + first.out + second.out + shown.out).not.toContain(text)
    }))

  test("self says who calls", () =>
    withKeys(async ({ keys, service }) => {
      expect((await keys("self")).out).toMatch(/^name +first\nkey +\w{10}\nkeys needed +yes\nmay +admin\n/)
      const anonymous = await run(["keys", "self"], { environmentUrl: service.url })
      expect([anonymous.exitCode, anonymous.err]).toEqual([1, expect.stringContaining("needs a key")])
    }))

  test("rotate gives a new text, and the old one works for the time of grace only", () =>
    withKeys(async ({ keys, as }) => {
      const old = made(await keys("create", "--label", "b", "--role", "app"))
      const id = idOfKey(old) ?? ""
      const rotated = await keys("rotate", id, "--grace", "1h")
      const next = made(rotated)
      expect(rotated.err).toMatch(/^Rotated .*\. The old text works until \d{4}-\S+Z\. This is the only time/)
      expect(idOfKey(next)).toBe(id)
      for (const text of [old, next]) expect((await as(text, "keys", "self")).exitCode).toBe(0)
      const ended = await keys("rotate", id, "--grace", "0s")
      const last = made(ended)
      expect(ended.err).toContain(". The old text does not work any more. ")
      const works = [old, next, last].map(async (text) => (await as(text, "keys", "self")).exitCode === 0)
      expect(await Promise.all(works)).toEqual([false, false, true])
    }))

  test("revoke ends a key, and revoke-leaked ends one by its text from a file or stdin, without a key", () =>
    withKeys(async ({ keys, as, service }) => {
      const [one, two] = [
        made(await keys("create", "--label", "one", "--role", "app")),
        made(await keys("create", "--label", "two", "--role", "app")),
      ]
      expect((await keys("revoke", idOfKey(one) ?? "")).out).toContain("(one). It stops working")
      expect((await as(one, "keys", "self")).err).toContain("The key has been revoked.")
      const leaked = (file: string, stdin = "") =>
        run(["keys", "revoke-leaked", file], { environmentUrl: service.url, stdin })
      expect(await leaked("-", `${two}\n`)).toEqual({ exitCode: 0, out: "The key is revoked.\n", err: "" })
      expect((await leaked(freshFile(two))).out).toBe("The key was revoked already.\n")
      expect((await as(two, "keys", "self")).exitCode).toBe(1)
    }))

  test("revoke needs --yes for the last administrator's key, and only for that", () =>
    withKeys(async ({ keys, as, adminKey }) => {
      const id = idOfKey(adminKey) ?? ""
      made(await keys("create", "--label", "part", "--role", "admin", "--namespace", "billing"))
      const refused = await keys("revoke", id)
      expect([refused.exitCode, refused.out]).toEqual([1, ""])
      expect(refused.err).toContain(`${id} is the last administrator's key in the store.`)
      const other = made(await keys("create", "--label", "other", "--role", "admin"))
      expect((await keys("revoke", id)).exitCode).toBe(0)
      const last = idOfKey(other) ?? ""
      expect((await as(other, "keys", "revoke", last)).exitCode).toBe(1)
      expect((await as(other, "keys", "revoke", last, "--yes")).exitCode).toBe(0)
      expect((await as(other, "keys", "self")).exitCode).toBe(1)
    }))

  test("the commands about one key say where the administrator's key file is, and send nothing", async () => {
    for (const name of ["get", "rotate", "revoke"]) {
      const { exitCode, err } = await run(["keys", name, "admin"])
      expect([exitCode, err]).toEqual([
        2,
        expect.stringContaining("TIMER_ADMIN_KEY_FILE is only in its file"),
      ])
    }
  })

  test("confirm needs a key's id or --all", async () => {
    for (const args of [[], ["7sKq20XbnR", "--all"]]) {
      const { exitCode, err } = await run(["keys", "confirm", ...args])
      expect([exitCode, err]).toEqual([2, expect.stringContaining("Name the key, or confirm all")])
    }
  })

  test("admin prints the key in the administrator's file, and says how to get one", async () => {
    const file = freshFile("a-key-of-at-least-32-characters-long\n")
    const environment = { TIMER_ADMIN_KEY_FILE: file }
    expect((await run(["keys", "admin"], { environment })).out).toBe("a-key-of-at-least-32-characters-long\n")
    const none = await run(["keys", "admin"])
    expect([none.exitCode, none.out, none.err]).toEqual([
      1,
      "",
      expect.stringContaining("keys create --admin"),
    ])
  })
})

test("after a restore, a service accepts a confirmed key again", () => {
  const restored = Effect.gen(function* () {
    const keys = yield* KeyDirectory
    const documents = yield* Documents
    const make = (label: string) => keys.create({ ...fullRights, label, madeBy: "test" }, Date.now())
    const [old, other] = [yield* make("old"), yield* make("other")]
    yield* new DoorRecords(documents).raiseRestores(Date.now())
    yield* keys.refresh
    texts.push(old.text, other.text, (yield* make("new")).text)
  }).pipe(Effect.orDie)
  const texts: Array<string> = []
  return withService({ before: restored }, async ({ url }) => {
    const [old = "", other = "", fresh = ""] = texts
    const as = (key: string, ...args: ReadonlyArray<string>) =>
      run(["keys", ...args, "--url", url], { environment: { TIMER_API_KEY: key } })
    expect((await as(old, "self")).err).toContain("from before the store was restored")
    const dry = await as(fresh, "confirm", "--all", "--dry-run")
    expect(dry.out).toBe("Would confirm 2 keys.\n")
    expect(
      rowsOf(dry.err)
        .map(([, label]) => label)
        .toSorted(),
    ).toEqual(["LABEL", "old", "other"])
    expect((await as(fresh, "confirm", idOfKey(old) ?? "")).out).toBe("Confirmed 1 key.\n")
    expect((await as(old, "self")).exitCode).toBe(0)
    expect((await as(other, "self")).exitCode).toBe(1)
    expect(JSON.parse((await as(fresh, "confirm", "--all", "--json")).out)).toEqual({
      confirmed: [idOfKey(other)],
    })
    expect((await as(other, "self")).exitCode).toBe(0)
  })
})
