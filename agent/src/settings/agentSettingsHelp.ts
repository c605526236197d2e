// The agent's settings in `punctual agent --help`, from the same table that validates them.
import type { AgentSetting } from "./AgentSetting.ts"
import { agentSecretNames, agentSettings, openAgentSettings } from "./agentSettings.ts"

export const agentSettingsHelp = (): string =>
  [
    "Settings of the agent. Those of the Timer and of the message broker begin with TIMER_:",
    "see punctual serve --help.",
    "",
    ...[...Object.values(agentSettings), ...Object.values(openAgentSettings)].flatMap(settingLines),
    "",
    "A setting that contains a secret can be in a file of its own, with one line:",
    ...agentSecretNames.map((name) => `  ${name}_FILE`),
  ].join("\n")

const settingLines = ({ name, byDefault, meaning }: AgentSetting<unknown>): ReadonlyArray<string> => [
  `  ${name.padEnd(36)} ${byDefault}`.trimEnd(),
  ...meaning.split("\n").map((line) => `      ${line}`),
]
