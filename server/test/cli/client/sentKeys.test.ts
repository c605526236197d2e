// Which key a command sends, where it comes from, and what the command says if the service refuses it.
import { afterAll, describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"
import { problem, run, type Surrounded, serviceThatAnswers } from "../CommandFixture.ts"

const folder = new TemporaryFolder()
afterAll(() => folder[Symbol.dispose]())

let files = 0
const fileWith = (content: string): string => {
  const path = join(folder.path, `key-${++files}`)
  writeFileSync(path, content)
  return path
}

const counted = { body: { count: 2, capped: false } }
const args = ["timers", "count", "billing"]

/** The headers that the service got, and how the command ended. */
const sent = async (
  environment: Readonly<Record<string, string>>,
  flags: ReadonlyArray<string> = [],
  more: Surrounded = {},
) => {
  await using service = await serviceThatAnswers(() => counted)
  const ended = await run([...args, ...flags], { environmentUrl: service.url, environment, ...more })
  return { ...ended, authorization: service.asked.map(({ authorization }) => authorization) }
}

describe("a command sends the key", () => {
  test("of --key-file before TIMER_API_KEY, and of nothing if none is given", async () => {
    expect((await sent({})).authorization).toEqual([undefined])
    expect((await sent({ TIMER_API_KEY: "" })).authorization).toEqual([undefined])
    expect((await sent({ TIMER_API_KEY: " a-key\n" })).authorization).toEqual(["Bearer a-key"])
    const environment = { TIMER_API_KEY: "a-key", TIMER_ADMIN_KEY_FILE: fileWith("admin") }
    const flagged = await sent(environment, ["--key-file", fileWith("another\n")])
    expect(flagged.authorization).toEqual(["Bearer another"])
  })

  test("of TIMER_API_KEY_FILE, and of TIMER_ADMIN_KEY_FILE if nothing else is given", async () => {
    const [file, admin] = [fileWith("\n a-key \n"), fileWith("admin\n")]
    const both = { TIMER_API_KEY_FILE: file, TIMER_ADMIN_KEY_FILE: admin }
    expect((await sent(both)).authorization).toEqual(["Bearer a-key"])
    expect((await sent({ TIMER_ADMIN_KEY_FILE: admin })).authorization).toEqual(["Bearer admin"])
    const missing = join(folder.path, "missing")
    expect((await sent({ TIMER_ADMIN_KEY_FILE: missing })).authorization).toEqual([undefined])
  })

  test("of the settings file of the service, as the service reads it", async () => {
    const settings = fileWith(`TIMER_ADMIN_KEY_FILE=${fileWith("admin")}\n`)
    expect((await sent({ TIMER_CONFIG: settings })).authorization).toEqual(["Bearer admin"])
    expect((await sent({ TIMER_CONFIG: join(folder.path, "missing") })).exitCode).toBe(0)
  })

  test("of the administrator's file only to this machine", async () => {
    const environment = { TIMER_ADMIN_KEY_FILE: fileWith("admin") }
    const { authorization } = await sent(environment, [], {})
    expect(authorization).toEqual(["Bearer admin"])
    // 0.0.0.0 is this machine too, but an address that is not loopback stands for every other machine here.
    await using service = await serviceThatAnswers(() =>
      problem(401, "unauthorized", "This call needs a key."),
    )
    const elsewhere = service.url.replace("127.0.0.1", "0.0.0.0")
    const { exitCode, err } = await run([...args, "--url", elsewhere], { environment })
    expect(service.asked.map(({ authorization: header }) => header)).toEqual([undefined])
    expect([exitCode, err]).toEqual([1, expect.stringContaining("is only sent to this machine")])
  })
})

describe("nothing is sent", () => {
  test("if the key is given twice", async () => {
    const twice = { TIMER_API_KEY: "a", TIMER_API_KEY_FILE: fileWith("a") }
    const { exitCode, err, authorization } = await sent(twice)
    expect([exitCode, authorization]).toEqual([1, []])
    expect(err).toBe(
      "punctual timers count: TIMER_API_KEY and TIMER_API_KEY_FILE mean the same: set only one of them.\n",
    )
  })

  test("if the file is missing, empty, too long, no file, or has more than one line", async () => {
    const wrong = [
      [join(folder.path, "missing"), "names a file that does not exist"],
      [fileWith(" \n"), "names an empty file"],
      [fileWith("a\nb\n"), "must name a file with one line"],
      [fileWith("a".repeat(20_000)), "must name a file of at most 16384 bytes"],
      [folder.path, "must name a file"],
    ] as const
    for (const [path, words] of wrong) {
      const { exitCode, err, authorization } = await sent({ TIMER_API_KEY_FILE: path })
      expect([exitCode, authorization]).toEqual([1, []])
      expect(err).toBe(`punctual timers count: TIMER_API_KEY_FILE ${words}: ${path}\n`)
    }
  })

  test("if the key could change the header, and the message does not show it", async () => {
    for (const text of ["se\tcret", "se cret", "secr\u00e9t", "se\rcret", "secret".repeat(100)]) {
      const { exitCode, err, authorization } = await sent({ TIMER_API_KEY: text })
      expect([exitCode, authorization]).toEqual([1, []])
      expect(err).toContain("TIMER_API_KEY contains no key")
      expect(err).not.toContain("cr")
    }
  })
})

describe("a command that is refused", () => {
  const refused = async (flags: ReadonlyArray<string>, environment: Readonly<Record<string, string>>) => {
    await using service = await serviceThatAnswers(() =>
      problem(401, "unauthorized", "The key is not valid."),
    )
    const { exitCode, out, err } = await run([...args, ...flags], {
      environmentUrl: service.url,
      environment,
    })
    expect([exitCode, out]).toEqual([1, ""])
    return err.replace(service.url, "URL")
  }

  test("says what to set if it sent no key", async () => {
    expect(await refused([], {})).toBe(
      "punctual timers count: refused (unauthorized): URL needs a key, and none was sent. Set TIMER_API_KEY_FILE to a file that contains a key, or set TIMER_API_KEY, or use --key-file.\n",
    )
    const missing = join(folder.path, "missing")
    expect(await refused([], { TIMER_ADMIN_KEY_FILE: missing })).toEndWith(
      `--key-file. TIMER_ADMIN_KEY_FILE names a file that does not exist: ${missing}\n`,
    )
  })

  test("names the source of the key that it sent, and never the key", async () => {
    const file = fileWith("sesame")
    const cases = [
      [["--key-file", file], {}, `--key-file (${file})`],
      [[], { TIMER_API_KEY: "sesame" }, "TIMER_API_KEY"],
      [[], { TIMER_API_KEY_FILE: file }, `TIMER_API_KEY_FILE (${file})`],
      [[], { TIMER_ADMIN_KEY_FILE: file }, `TIMER_ADMIN_KEY_FILE (${file})`],
    ] as const
    for (const [flags, environment, source] of cases) {
      const err = await refused(flags, environment)
      expect(err).toBe(
        `punctual timers count: refused (unauthorized): the key of ${source} was refused. The key is not valid.\n`,
      )
    }
  })

  test("shows the sentence of the service and the source of the key if the key may not do this", async () => {
    const detail = "The key needs the action timers.read in the namespace billing."
    await using service = await serviceThatAnswers(() => problem(403, "forbidden", detail))
    const { err } = await run(args, { environmentUrl: service.url, environment: { TIMER_API_KEY: "a" } })
    expect(err).toBe(
      `punctual timers count: refused (forbidden): ${detail} The key is that of TIMER_API_KEY.\n`,
    )
  })
})

test("a redirect is not followed, so no other origin gets the key", async () => {
  await using other = await serviceThatAnswers(() => counted)
  await using service = await serviceThatAnswers(() => ({
    status: 307,
    body: "",
    headers: { location: `${other.url}/api/v1/timers/count` },
  }))
  const { exitCode, err } = await run(args, {
    environmentUrl: service.url,
    environment: { TIMER_API_KEY: "a" },
  })
  expect([exitCode, err]).toEqual([1, expect.stringContaining("answered 307")])
  expect(other.asked).toEqual([])
})
