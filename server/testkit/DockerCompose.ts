// Docker Compose from Debian's packages, to check the files in deploy/compose. It reads them and shows what it understood.
// It needs no engine for that.
import { execFileSync } from "node:child_process"
import { deployTools, deployToolsFolder } from "./DebianDeployTools.ts"
import { suiteCommand } from "./DebianSuite.ts"
import { describeNeeding } from "./describeUnless.ts"

/** A service, as far as tests look at it. */
export interface ComposeService {
  readonly image: string
  readonly command: ReadonlyArray<string> | null
  readonly environment?: Readonly<Record<string, string>>
  readonly profiles?: ReadonlyArray<string>
  readonly restart?: string
  readonly mem_limit?: string
  readonly healthcheck?: { readonly test: ReadonlyArray<string> }
  readonly ports?: ReadonlyArray<{ readonly host_ip?: string; readonly target: number }>
  readonly secrets?: ReadonlyArray<{ readonly source: string; readonly target: string }>
  readonly volumes?: ReadonlyArray<{
    readonly type: string
    readonly source: string
    readonly target: string
  }>
}

export interface ComposeProject {
  readonly services: Readonly<Record<string, ComposeService>>
  readonly secrets?: Readonly<Record<string, { readonly file: string }>>
}

/** Defines tests that need Docker Compose. Without it they are skipped by name, or fail in CI. */
export const describeCompose = (name: string, body: () => void): void => {
  const found = deployTools()
  describeNeeding("missing" in found ? found.missing : undefined, name, body)
}

/** How to start Docker Compose itself. */
/** How to start Docker Compose itself. */
export const composeProgram = () =>
  suiteCommand(deployToolsFolder(), "usr/libexec/docker/cli-plugins/docker-compose")

/** What Docker Compose understands of the file: with the profiles in .env beside it, or with these. */
export const composeProject = (file: string, profiles: ReadonlyArray<string> = []): ComposeProject => {
  const { command, args } = composeProgram()
  const flags = profiles.flatMap((profile) => ["--profile", profile])
  const text = execFileSync(command, [...args, "--file", file, ...flags, "config", "--format", "json"], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 60_000,
    env: { PATH: process.env["PATH"] ?? "" },
  })
  return JSON.parse(text)
}
