// The settings in `punctual serve --help`, with their defaults, from the same table that validates them.
import { type TelemetrySetting, telemetrySettings } from "@punctual/telemetry/telemetrySettings"
import type { Setting } from "../../settings/Setting.ts"
import {
  type Adapters,
  apiKeyFileName,
  apiKeyName,
  configFileName,
  limitSettings,
  settings,
  settingsOf,
  urlName,
} from "../../settings/Settings.ts"
import { secretFileNames } from "../../settings/secretFiles.ts"

export const settingsHelp = (adapters: Adapters): string =>
  [
    "Settings are environment variables, or lines of NAME=value in the file that",
    `${configFileName} names; the environment wins. Durations look like 250ms, 5s, 1h30m or 7d.`,
    "",
    ...Object.values(settingsOf(adapters)).flatMap(settingLines),
    "",
    "Traces and logs, by the variables of OpenTelemetry:",
    ...telemetrySettings.flatMap(settingLines),
    "",
    "A setting that contains a secret can be in a file of its own, with one line:",
    ...secretFileNames.map((name) => `  ${name}`),
    "",
    `Commands that call a running service use the URL in ${urlName} (http://127.0.0.1:8080).`,
    `They send the key in ${apiKeyName}, or in the file that ${apiKeyFileName} names. To a service on`,
    `this machine they send the key in ${settings.adminKeyFile.name}, if no other is given.`,
    "",
    "Limits of the contract (a number, or a duration):",
    ...limitSettings.map(({ name, byDefault }) => `  ${name.padEnd(36)} ${byDefault}`),
  ].join("\n")

const settingLines = ({
  name,
  byDefault,
  meaning,
}: Setting<unknown> | TelemetrySetting): ReadonlyArray<string> => [
  `  ${name.padEnd(36)} ${byDefault}`.trimEnd(),
  ...meaning.split("\n").map((line) => `      ${line}`),
]
