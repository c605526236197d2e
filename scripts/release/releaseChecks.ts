// What must be true before a release: one version everywhere, its entry in the changelog, and nothing uncommitted.
import { spawnSync } from "node:child_process"
import rootManifest from "../../package.json" with { type: "json" }
import { root, textOf } from "../repository.ts"

export const releaseVersion = (): string => rootManifest.version

/** The files that state the version, besides the one of the workspace. */
const versionedFiles = (): ReadonlyArray<string> => [
  ...rootManifest.workspaces.map((workspace) => `${workspace}/package.json`),
  "packages/punctual/package.json",
]

const chartFile = "deploy/helm/punctual/Chart.yaml"

/** Sentences that say what is wrong; empty if a release may be made. */
export const releaseProblems = (): ReadonlyArray<string> => {
  const version = releaseVersion()
  const others = versionedFiles().flatMap((file) => {
    const found: string = JSON.parse(textOf(file)).version
    return found === version ? [] : [`${file} has version ${found}, but package.json has ${version}.`]
  })
  const chart = textOf(chartFile)
  for (const name of ["version", "appVersion"]) {
    const found = new RegExp(`^${name}: (\\S+)$`, "m").exec(chart)?.[1]
    if (found !== version)
      others.push(`${chartFile} has version ${found} as ${name}, but package.json has ${version}.`)
  }
  const hasEntry = textOf("CHANGELOG.md").includes(`\n## [${version}]`)
  const { stdout } = spawnSync("git", ["status", "--porcelain"], { cwd: root, encoding: "utf8" })
  return [
    ...others,
    ...(hasEntry ? [] : [`CHANGELOG.md has no heading "## [${version}]".`]),
    ...(stdout === "" ? [] : ["some changes are not committed."]),
  ]
}
