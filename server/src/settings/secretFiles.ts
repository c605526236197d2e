// A setting that contains a secret can also be in a file of its own: the setting with `_FILE` at its end names the file.
// A value in the environment or on a command line can be seen by other users of the machine. Orchestrators provide
// secrets as files.
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs"
import type { SecretFile } from "./problemText.ts"

/** The settings that may contain a secret. */
const secretSettings = [
  "TIMER_STORE_URL",
  "TIMER_BROKER_URL",
  "TIMER_CLUSTER_SECRET",
  "TIMER_SECRET_KEY",
] as const

export type SecretSetting = (typeof secretSettings)[number]

const fileNameOf = (name: string): string => `${name}_FILE`

export const secretFileNames: ReadonlyArray<string> = secretSettings.map(fileNameOf)

/** No secret is this long. A longer file is not read to its end. */
const mostBytes = 16 * 1_024

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
    const read = readSecret(path)
    if ("problem" in read) problems.push(`${setting} ${read.problem}: ${path}`)
    else {
      all[name] = read.value
      files.set(name, { setting, path })
    }
  }
  return { texts: all, files }
}

type ReadSecret = { readonly value: string } | { readonly problem: string }

const readSecret = (path: string): ReadSecret => {
  try {
    // Without O_NONBLOCK the open of a named pipe would wait for a writer.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      if (!fstatSync(file).isFile()) return { problem: "must name a file" }
      const buffer = Buffer.alloc(mostBytes + 1)
      const bytes = readSync(file, buffer, 0, mostBytes + 1, 0)
      if (bytes > mostBytes) return { problem: `must name a file of at most ${mostBytes} bytes` }
      const value = buffer.toString("utf8", 0, bytes).trim()
      if (value === "") return { problem: "names an empty file" }
      return value.includes("\n") ? { problem: "must name a file with one line" } : { value }
    } finally {
      closeSync(file)
    }
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unreadable"
    return {
      problem: `names a file that ${code === "ENOENT" ? "does not exist" : `cannot be read (${code})`}`,
    }
  }
}
