// Drivers are installed once, when they are first needed. The process that installs a driver can use it at once.
import { describe, expect, test } from "bun:test"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { hostname } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { driverNames, installDriver } from "../../../scripts/install.mjs"
import { allBuses } from "../../src/buses/all.ts"
import { allStores } from "../../src/stores/all.ts"
import { eventually } from "../../testkit/eventually.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

const root = fileURLToPath(new URL("../../../", import.meta.url))

/** A driver named `toy`. Its only package is on this disk, so npm needs no network. */
const toyDriverIn = (drivers: string): string => {
  const [driver, wheel] = [join(drivers, "toy"), join(drivers, "wheel")]
  for (const folder of [driver, wheel]) mkdirSync(folder)
  const json = (value: object) => JSON.stringify(value)
  writeFileSync(
    join(wheel, "package.json"),
    json({ name: "wheel", version: "1.0.0", exports: "./wheel.mjs" }),
  )
  writeFileSync(join(wheel, "wheel.mjs"), 'export const turn = () => "it turns"\n')
  const dependencies = { wheel: "file:../wheel" }
  writeFileSync(join(driver, "package.json"), json({ name: "toy", private: true, dependencies }))
  const packages = {
    "": { name: "toy", dependencies },
    "../wheel": { version: "1.0.0" },
    "node_modules/wheel": { resolved: "../wheel", link: true },
  }
  writeFileSync(
    join(driver, "package-lock.json"),
    json({ name: "toy", lockfileVersion: 3, requires: true, packages }),
  )
  writeFileSync(join(driver, ".npmrc"), "offline=true\n")
  writeFileSync(join(driver, "toy.ts"), 'export { turn } from "wheel"\n')
  return driver
}

describe("a driver", () => {
  test("is installed once, which is logged, and again when its lockfile changes", () => {
    using folder = new TemporaryFolder()
    const driver = toyDriverIn(folder.path)
    const said: Array<string> = []
    const install = () => installDriver("toy", (line) => said.push(line), folder.path)
    expect([install(), install()]).toEqual([true, true])
    expect(said).toEqual(["Installing the driver toy (once) …"])
    expect(existsSync(join(driver, "node_modules", "wheel", "wheel.mjs"))).toBe(true)
    appendFileSync(join(driver, "package-lock.json"), "\n")
    expect([install(), said.length]).toEqual([true, 2])
  })

  test("that cannot be installed does not count as installed", () => {
    using folder = new TemporaryFolder()
    const driver = toyDriverIn(folder.path)
    writeFileSync(join(driver, "package-lock.json"), "{}")
    // In a separate process, because npm prints a lot about it.
    const again = `console.log(install(() => {}), install(() => {}))`
    const { stdout, stderr } = runWith(folder.path, again)
    expect(stdout).toBe("false false\n")
    expect(stderr).toContain("npm error")
  })

  test("is installed by one of several processes that start at the same time, and the others wait", async () => {
    using folder = new TemporaryFolder()
    const driver = toyDriverIn(folder.path)
    // The lock is held until all processes wait for it.
    const lock = join(driver, ".punctual-installing")
    writeFileSync(lock, `${process.pid} ${hostname()}`)
    const script = scriptWith(folder.path, "console.log(install())")
    const children = Array.from({ length: 3 }, () => new Watched(spawn(process.execPath, [script])))
    await eventually("all wait", () =>
      children.every(({ said }) => said.includes("Waiting for it")) ? true : undefined,
    )
    rmSync(lock)
    const said = (await Promise.all(children.map(({ all }) => all))).join("")
    expect(said.match(/Installing the driver toy/g)?.length).toBe(1)
    expect(said.match(/^true$/gm)?.length).toBe(3)
    expect(existsSync(lock)).toBe(false)
  }, 60_000)

  test("is installed although a process that installed it has ended, or its lock is old", () => {
    using folder = new TemporaryFolder()
    const driver = toyDriverIn(folder.path)
    const lock = join(driver, ".punctual-installing")
    // In a separate process with a time limit, because it would wait for a lock that counts.
    const install = () => runWith(folder.path, "console.log(install(() => {}))", 20_000).stdout
    const { pid } = spawnSync("true")
    writeFileSync(lock, `${pid} ${hostname()}`)
    expect([install(), existsSync(lock)]).toEqual(["true\n", false])
    appendFileSync(join(driver, "package-lock.json"), "\n")
    writeFileSync(lock, `${process.pid} another-machine`)
    utimesSync(lock, 0, 0)
    expect([install(), existsSync(lock)]).toEqual(["true\n", false])
  }, 60_000)

  test("is found by the process that installed it", () => {
    using folder = new TemporaryFolder()
    toyDriverIn(folder.path)
    const used = `install(() => {}); const { turn } = await import("./toy/toy.ts"); console.log(turn())`
    expect(runWith(folder.path, used).stdout).toBe("it turns\n")
  })
})

/** The output of a process. */
class Watched {
  said = ""
  /** Everything that it said until its end. */
  readonly all: Promise<string>

  constructor(child: ReturnType<typeof spawn>) {
    child.stdout?.on("data", (chunk) => {
      this.said += String(chunk)
    })
    this.all = once(child, "close").then(() => this.said)
  }
}

/** A program with this text. There, `install` installs the toy and says so. */
const scriptWith = (drivers: string, text: string): string => {
  const script = join(drivers, "main.ts")
  const installFile = JSON.stringify(join(root, "scripts", "install.mjs"))
  writeFileSync(
    script,
    `import { installDriver } from ${installFile}
const install = (say = console.log) => installDriver("toy", say, import.meta.dirname)
${text}
`,
  )
  return script
}

/** Runs the text in a new process. */
const runWith = (drivers: string, text: string, withinMs = 60_000) =>
  spawnSync(process.execPath, [scriptWith(drivers, text)], { encoding: "utf8", timeout: withinMs })

describe("the drivers", () => {
  const needed = [...allStores, ...allBuses].flatMap(({ driver }) => (driver === undefined ? [] : [driver]))

  test("are exactly those that adapters name", () => {
    expect([...driverNames()].sort()).toEqual([...new Set(needed)].sort())
  })

  test("are pinned exactly, and their lockfiles name no registry", () => {
    for (const name of needed) {
      const read = (file: string) => readFileSync(join(root, "drivers", name, file), "utf8")
      const { dependencies } = JSON.parse(read("package.json")) as { dependencies: Record<string, string> }
      for (const version of Object.values(dependencies)) expect(version).toMatch(/^\d+\.\d+\.\d+$/)
      expect(read("package-lock.json")).not.toMatch(/"resolved"|https?:\/\//)
    }
  })
})
