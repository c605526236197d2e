// `npm run release`: builds everything that a release consists of, and publishes it. With --dry-run it builds the same
// files and prints the commands that would publish them.
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join, relative, resolve } from "node:path"
import { parseArgs } from "node:util"
import { buildClient } from "../../sdks/typescript/build.ts"
import { root } from "../repository.ts"
import { billOfMaterials } from "./billOfMaterials.ts"
import { buildExecutable, type Platform, platforms } from "./executables.ts"
import { buildImageContext } from "./imageContext.ts"
import { libraries } from "./libraries.ts"
import { buildLibrary } from "./libraryPackage.ts"
import { buildCommandPackage, buildPlatformPackage, packageName } from "./programPackage.ts"
import { releaseProblems, releaseVersion } from "./releaseChecks.ts"
import { releaseUsage } from "./usage.mjs"

const names = platforms.map(({ name }) => name).join(", ")
const say = (text: string): void => void process.stderr.write(`${text}\n`)

interface Asked {
  readonly isDryRun: boolean
  readonly folder: string
  readonly chosen: ReadonlyArray<Platform>
  readonly registry: string | undefined
}

const asked = (): Asked => {
  const { values } = parseArgs({
    options: {
      "dry-run": { type: "boolean", default: false },
      out: { type: "string", default: join(root, "dist", "release") },
      only: { type: "string" },
      registry: { type: "string" },
    },
  })
  const wanted = values.only?.split(",") ?? platforms.map(({ name }) => name)
  const unknown = wanted.filter((name) => !platforms.some((platform) => platform.name === name))
  if (unknown.length > 0) throw new Error(`there is no platform ${unknown.join(", ")}: use ${names}`)
  if (values.only !== undefined && !values["dry-run"])
    throw new Error("a release has all platforms: use --only with --dry-run")
  return {
    isDryRun: values["dry-run"],
    folder: resolve(values.out),
    chosen: platforms.filter(({ name }) => wanted.includes(name)),
    registry: values.registry,
  }
}

const run = (command: string, args: ReadonlyArray<string>, cwd = root): boolean =>
  spawnSync(command, args, { cwd, stdio: ["ignore", 2, 2] }).status === 0

const pack = (packageFolder: string, into: string): void => {
  if (!run("npm", ["pack", "--silent", "--pack-destination", into], packageFolder))
    throw new Error(`npm pack failed in ${packageFolder}; its message is above`)
}

/** Returns the platforms whose executables could be built. */
const buildExecutables = ({ chosen, folder }: Asked): ReadonlyArray<Platform> =>
  chosen.filter((platform) => {
    const problem = buildExecutable(platform, join(folder, "executables"))
    say(`executable ${platform.name}: ${problem ?? "built"}`)
    return problem === undefined
  })

const buildPackages = (folder: string, built: ReadonlyArray<Platform>): void => {
  const work = join(folder, "work")
  const packed = join(folder, "npm")
  mkdirSync(packed, { recursive: true })
  for (const library of libraries) {
    buildLibrary(library, join(work, library.workspace))
    pack(join(work, library.workspace), packed)
  }
  buildClient(join(work, "client"))
  pack(join(work, "client"), packed)
  for (const platform of built.filter(({ npm }) => npm !== undefined)) {
    const place = join(work, platform.name)
    buildPlatformPackage(platform, join(folder, "executables"), place)
    pack(place, packed)
    rmSync(place, { recursive: true })
    say(`package ${packageName(platform)}: packed`)
  }
  buildCommandPackage(built, join(work, "punctual"))
  pack(join(work, "punctual"), packed)
  rmSync(work, { recursive: true })
}

const filesIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => statSync(join(folder, file)).isFile())
    .sort()

/** The files of a release. The context of the image repeats executables. */
const releasedFiles = (folder: string): ReadonlyArray<string> =>
  filesIn(folder).filter((file) => !file.startsWith("image/"))

/** In the form of sha256sum, so that `sha256sum --check SHA256SUMS` works in the folder. */
const writeSums = (folder: string): void => {
  const lines = releasedFiles(folder).map((file) => {
    const sum = createHash("sha256")
      .update(readFileSync(join(folder, file)))
      .digest("hex")
    return `${sum}  ${file}`
  })
  writeFileSync(join(folder, "SHA256SUMS"), `${lines.join("\n")}\n`)
}

const sizesOf = (folder: string): string =>
  releasedFiles(folder)
    .map((file) => {
      const { size } = statSync(join(folder, file))
      const shown =
        size < 2 ** 20 ? `${(size / 2 ** 10).toFixed(0)} KiB` : `${(size / 2 ** 20).toFixed(1)} MiB`
      return `${shown.padStart(10)}  ${file}`
    })
    .join("\n")

/** The commands that publish the files. Packages of platforms come before the package that names them. */
const publishing = ({ folder, registry }: Asked): ReadonlyArray<ReadonlyArray<string>> => {
  const packages = readdirSync(join(folder, "npm")).sort()
  const command = packages.filter((file) => /^punctual-\d/.test(file))
  const others = packages.filter((file) => !command.includes(file))
  const version = releaseVersion()
  const image = `${registry}/punctual:${version}`
  return [
    ...[...others, ...command].map((file) => [
      "npm",
      "publish",
      "--access",
      "public",
      join(folder, "npm", file),
    ]),
    ...(registry === undefined
      ? []
      : [
          [
            "docker",
            "build",
            "--file",
            "deploy/docker/Dockerfile",
            "--tag",
            image,
            "--build-arg",
            `VERSION=${version}`,
            join(folder, "image"),
          ],
          ["docker", "push", image],
        ]),
    ["git", "tag", "--annotate", `v${version}`, "--message", `Punctual ${version}`],
    ["git", "push", "origin", `v${version}`],
  ]
}

const main = (): number => {
  const what = asked()
  const problems = releaseProblems()
  for (const problem of problems)
    say(`${what.isDryRun ? "A release would be refused" : "Refused"}: ${problem}`)
  if (problems.length > 0 && !what.isDryRun) return 1
  const { folder, chosen, isDryRun } = what
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const built = buildExecutables(what)
  if (built.length < chosen.length && !isDryRun) {
    say("Refused: a release has the executables of all platforms.")
    return 1
  }
  buildPackages(folder, built)
  const architectures = buildImageContext(built, folder)
  say(
    `image: ${architectures.length > 0 ? `the folder image has the executables for ${architectures.join(", ")}` : "not possible without linux-x64-baseline or linux-arm64"}`,
  )
  writeFileSync(join(folder, "sbom.cdx.json"), billOfMaterials(releaseVersion()))
  writeSums(folder)
  process.stdout.write(`${sizesOf(folder)}\n`)
  const commands = publishing(what)
  if (isDryRun) {
    const shown = commands.map((words) => words.map((word) => shownWord(word, folder)).join(" "))
    process.stdout.write(`\nA release would run:\n${shown.map((line) => `  ${line}\n`).join("")}`)
    return 0
  }
  const failed = commands.find(([command = "", ...args]) => !run(command, args))
  if (failed !== undefined) say(`Stopped: \`${failed.join(" ")}\` failed. What is above it is published.`)
  return failed === undefined ? 0 : 1
}

const shownWord = (word: string, folder: string): string => {
  const path = word.startsWith(folder) ? relative(folder, word) : word
  return path.includes(" ") ? `"${path}"` : path
}

try {
  process.exitCode = main()
} catch (error) {
  say(`${error instanceof Error ? error.message : error}\n\n${releaseUsage}`)
  process.exitCode = 1
}
