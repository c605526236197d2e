// What the command says about itself: its commands, and every setting with its default.
import { configFileName, limitSettings, type Setting, settings, urlName } from "./Settings.ts"

export const help = (): string =>
  [
    "Punctual, a durable timer service.",
    "",
    "  punctual [serve]   run the service (the default)",
    "  punctual listen    run a receiver that prints what timers deliver; see punctual listen --help",
    "  punctual dlq       dead letters of the broker: list, show, replay, discard; see punctual dlq --help",
    "  punctual cluster   the nodes that share a store, and who fires what; see punctual cluster --help",
    "  punctual export    write all that a store holds to stdout; see punctual export --help",
    "  punctual import    read it into another store from stdin; see punctual import --help",
    "  punctual --help    show this text",
    "  punctual --version show the version",
    "",
    "Settings are environment variables, or lines of NAME=value in the file that",
    `${configFileName} names; the environment wins. Durations read 250ms, 5s, 1h30m or 7d.`,
    "",
    ...Object.values(settings).flatMap(settingLines),
    "",
    `Commands that ask a running node find it by ${urlName} (http://127.0.0.1:8080).`,
    "",
    "Limits of the contract (a number, or a duration):",
    ...limitSettings.map(({ name, byDefault }) => `  ${name.padEnd(36)} ${byDefault}`),
    "",
  ].join("\n")

const settingLines = ({ name, byDefault, meaning }: Setting<unknown>): ReadonlyArray<string> => [
  `  ${name.padEnd(36)} ${byDefault}`.trimEnd(),
  ...meaning.split("\n").map((line) => `      ${line}`),
]
