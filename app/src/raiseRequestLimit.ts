// Lets the runtime make more requests at once, so that hosts that do not answer can have slots of their own (ADR 0055).
// The runtime reads this limit from its environment when it starts, and nothing can change it later. So the program
// replaces itself once, with the limit in the environment. The process id and the open files stay the same.
import { build } from "@punctual/server/program/Build"
import { runtimeRequestsName } from "@punctual/server/settings/runtimeRequests"

/** By default: 200 normal slots, 40 slow ones, and 784 for new hosts. */
const requestsOfService = 1_024

/** As many as the agent makes at once (agent/src/execution/TurnQueue.ts, which is not loaded here). */
export const requestsOfAgent = 256

/** The agent gets requests of its own. Without them, its calls to silent hosts would delay the webhooks of the Timer. */
export const requestsAtOnce = ([command]: ReadonlyArray<string>): number =>
  requestsOfService + (command === "agent" ? requestsOfAgent : 0)

/** Does nothing if the environment has a limit already, or if the platform cannot replace a process. */
export const raiseRequestLimit = (): void => {
  const { argv, env, execArgv, execPath } = process
  if (env[runtimeRequestsName] !== undefined) return
  const own = build.built === undefined ? [...execArgv, ...argv.slice(1)] : argv.slice(2)
  try {
    const limit = String(requestsAtOnce(argv.slice(2)))
    process.execve?.(execPath, [execPath, ...own], { ...env, [runtimeRequestsName]: limit })
  } catch {
    // The program works with the lower limit too. It has fewer slots then (deliverySlotsOf.ts).
  }
}
