// The settings that decide who may call the service.
import { resolve } from "node:path"
import type { AuthMode } from "@punctual/door/Gate"
import type { Parsed } from "../ports/Adapter.ts"
import { setting } from "./Setting.ts"

const authModes: ReadonlyArray<AuthMode> = ["auto", "required", "off"]

const authMode = (text: string): Parsed<AuthMode> => {
  const mode = authModes.find((known) => known === text)
  return mode === undefined ? { problem: `must be one of ${authModes.join(", ")}` } : { value: mode }
}

const filePath = (path: string): Parsed<string> =>
  path.trim() === "" ? { problem: "must name a file" } : { value: resolve(path) }

const metricsAccess = (text: string): Parsed<"keys" | "open"> =>
  text === "keys" || text === "open" ? { value: text } : { problem: "must be keys or open" }

export const accessSettings = {
  auth: setting(
    "TIMER_AUTH",
    "auto",
    "whether calls need a key. auto: as soon as the store has had a key, or an administrator's key file is set;\nrequired: always; off: never, for example behind a proxy that checks callers",
    authMode,
  ),
  adminKeyFile: setting(
    "TIMER_ADMIN_KEY_FILE",
    "",
    "a file with the administrator's key; if it is missing, the service makes it",
    filePath,
  ),
  metricsAccess: setting(
    "TIMER_METRICS",
    "keys",
    "open: /metrics needs no key, even if calls do",
    metricsAccess,
  ),
} as const
