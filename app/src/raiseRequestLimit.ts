// Lets the runtime make more requests at once, so that hosts that do not answer can have slots of their own (ADR 0055).
// The runtime reads this limit from its environment when it starts, and nothing can change it later. So the program
// replaces itself once, with the limit in the environment. The process id and the open files stay the same.
import { build } from "@punctual/server/program/Build"
import { runtimeRequestsName } from "@punctual/server/settings/runtimeRequests"

/** By default: 200 normal slots, 40 slow ones, and 784 for new hosts. */
const requestsAtOnce = "1024"

/** Does nothing if the environment has a limit already, or if the platform cannot replace a process. */
export const raiseRequestLimit = (): void => {
  const { argv, env, execArgv, execPath } = process
  if (env[runtimeRequestsName] !== undefined) return
  const own = build.built === undefined ? [...execArgv, ...argv.slice(1)] : argv.slice(2)
  try {
    process.execve?.(execPath, [execPath, ...own], { ...env, [runtimeRequestsName]: requestsAtOnce })
  } catch {
    // The program works with the lower limit too. It has fewer slots then (deliverySlotsOf.ts).
  }
}
