// Drivers are installed once, when they are first needed. The process that installs a driver can use it at once.
import { describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { driverNames, installDriver } from "../../../scripts/install.mjs"
import { allBuses } from "../../src/buses/all.ts"
import { allStores } from "../../src/stores/all.ts"
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
    const again = `console.log(install(), install())`
    const { stdout, stderr } = runWith(folder.path, again)
    expect(stdout).toBe("false false\n")
    expect(stderr).toContain("npm error")
  })

  test("is found by the process that installed it", () => {
    using folder = new TemporaryFolder()
    toyDriverIn(folder.path)
    const used = `install(); const { turn } = await import("./toy/toy.ts"); console.log(turn())`
    expect(runWith(folder.path, used).stdout).toBe("it turns\n")
  })
})

/** Runs the text in a new process. There, `install` installs the toy. */
const runWith = (drivers: string, text: string) => {
  const script = join(drivers, "main.ts")
  const installFile = JSON.stringify(join(root, "scripts", "install.mjs"))
  writeFileSync(
    script,
    `import { installDriver } from ${installFile}
const install = () => installDriver("toy", () => {}, import.meta.dirname)
${text}
`,
  )
  return spawnSync(process.execPath, [script], { encoding: "utf8", timeout: 60_000 })
}

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
