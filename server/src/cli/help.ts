// What the command says about itself: its commands, and every setting with its default.
import { configFileName, limitSettings, type Setting, settings } from "./Settings.ts"

export const help = (): string =>
  [
    "Punctual, a durable timer service.",
    "",
    "  punctual [serve]   run the service (the default)",
    "  punctual listen    run a receiver that prints what timers deliver; see punctual listen --help",
    "  punctual dlq       dead letters of the broker: list, show, replay, discard; see punctual dlq --help",
    "  punctual --help    show this text",
    "  punctual --version show the version",
    "",
    "Settings are environment variables, or lines of NAME=value in the file that",
    `${configFileName} names; the environment wins. Durations read 250ms, 5s, 1h30m or 7d.`,
    "",
    ...Object.values(settings).flatMap(settingLines),
    "",
    "Limits of the contract (a number, or a duration):",
    ...limitSettings.map(({ name, byDefault }) => `  ${name.padEnd(36)} ${byDefault}`),
    "",
  ].join("\n")

const settingLines = ({ name, byDefault, meaning }: Setting<unknown>): ReadonlyArray<string> => [
  `  ${name.padEnd(36)} ${byDefault}`.trimEnd(),
  ...meaning.split("\n").map((line) => `      ${line}`),
]
