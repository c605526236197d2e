// Starts the service as a container of a deployment would start it, but as a process on loopback: with the variables of
// the image and of the deployment, and with the files that the deployment mounts. Only the addresses are replaced.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

export interface Container {
  /** What the deployment adds to the variables of the image. */
  readonly environment: Readonly<Record<string, string>>
  /** The texts of mounted files, by their paths in the container. */
  readonly files: Readonly<Record<string, string>>
}

export interface LoopbackOptions {
  /** Takes the place of the root folder of the container. */
  readonly folder: string
  /** Each text is replaced by the other one, in variables and in files. */
  readonly replaced: Readonly<Record<string, string>>
}

const dockerfile = fileURLToPath(new URL("../../deploy/docker/Dockerfile", import.meta.url))

/** The settings that deploy/docker/Dockerfile presets. */
export const imageSettings = (): Readonly<Record<string, string>> => {
  const [, block = ""] = /^ENV ((?:.*\\\n)*.*)$/m.exec(readFileSync(dockerfile, "utf8")) ?? []
  const pairs = [...block.matchAll(/^\s*(\w+)=(\S*)/gm)].map(([, name = "", value = ""]) => [name, value])
  return Object.fromEntries(pairs.filter(([name]) => name?.startsWith("TIMER_")))
}

/** The settings for a process of this machine. */
export const loopbackSettings = (
  { environment, files }: Container,
  { folder, replaced }: LoopbackOptions,
): Readonly<Record<string, string>> => {
  const here = (text: string): string =>
    Object.entries(replaced).reduce((all, [from, to]) => all.replaceAll(from, to), text)
  const placed = new Map(
    Object.entries(files).map(([path, text], index) => {
      const file = join(folder, `file-${index}`)
      writeFileSync(file, here(text))
      return [path, file]
    }),
  )
  mkdirSync(join(folder, "data"), { recursive: true })
  const settings = Object.entries({ ...imageSettings(), ...environment }).map(([name, value]) => {
    const file = placed.get(value)
    if (file !== undefined) return [name, file]
    if (name === "TIMER_HTTP_HOST" || name === "AGENT_HTTP_HOST") return [name, "127.0.0.1"]
    // The receivers of tests are on loopback.
    if (name === "TIMER_EGRESS" || name === "AGENT_EGRESS") return [name, `${value},loopback`]
    return [name, value.startsWith("/data/") ? join(folder, value) : here(value)]
  })
  return Object.fromEntries(settings)
}

/** Creates a timer that is due at once, with this key. Returns the status of the answer. */
export const createdStatus = async (
  url: string,
  timer: { readonly timerId: string; readonly callbackUrl: string },
  key: string,
): Promise<number> => {
  const response = await fetch(`${url}/api/v1/timers/create`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({ namespace: "deployed", delay: "100ms", ...timer }),
  })
  await response.body?.cancel()
  return response.status
}
