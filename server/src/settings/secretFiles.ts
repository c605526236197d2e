// A setting that contains a secret can also be in a file of its own: the setting with `_FILE` at its end names the file.
// A value in the environment or on a command line can be seen by other users of the machine. Orchestrators provide
// secrets as files.
import { telemetrySecrets } from "@punctual/telemetry/telemetrySettings"
import type { SecretFile } from "./problemText.ts"
import { readSecretFile } from "./readSecretFile.ts"

/** The settings that may contain a secret. */
const secretSettings = [
  "TIMER_STORE_URL",
  "TIMER_BROKER_URL",
  "TIMER_CLUSTER_SECRET",
  "TIMER_SECRET_KEY",
  ...telemetrySecrets,
] as const

export type SecretSetting = (typeof secretSettings)[number]

const fileNameOf = (name: string): string => `${name}_FILE`

export const secretFileNames: ReadonlyArray<string> = secretSettings.map(fileNameOf)

export interface SecretFiles {
  /** The texts of all settings, with those that are in files. */
  readonly texts: Record<string, string>
  /** The files, by the setting whose value they contain. */
  readonly files: ReadonlyMap<string, SecretFile>
}

/**
 * Adds the values of the named files to the texts. A missing file, or a value that is given twice, is a problem. `wanted`
 * names the settings that the caller needs. The files of other settings are not read.
 */
export const withSecretFiles = (
  texts: Readonly<Record<string, string>>,
  problems: Array<string>,
  wanted: ReadonlyArray<SecretSetting> = secretSettings,
): SecretFiles => {
  const all = { ...texts }
  const files = new Map<string, SecretFile>()
  for (const name of wanted) {
    const setting = fileNameOf(name)
    const path = texts[setting]
    if (path === undefined) continue
    if (texts[name] !== undefined) {
      problems.push(`${name} and ${setting} mean the same: set only one of them.`)
      continue
    }
    if (path.trim() === "") {
      problems.push(`${setting} is empty: give the path of a file, or remove the setting.`)
      continue
    }
    const read = readSecretFile(path)
    if ("problem" in read) problems.push(`${setting} ${read.problem}: ${path}`)
    else {
      all[name] = read.value
      files.set(name, { setting, path })
    }
  }
  return { texts: all, files }
}
