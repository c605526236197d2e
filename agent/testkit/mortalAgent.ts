// `punctual agent` as a test starts it, to kill it at a named step. The test writes a step and a number into its standard
// input, such as `execution.claimed 7`. When the agent reaches this step for the 7th time from then on, the process
// kills itself with SIGKILL, in the middle of the step: nothing is flushed, and no other thread goes on.
import { allBuses } from "@punctual/server/buses/all"
import { installDriver } from "@punctual/server/program/drivers"
import { allStores } from "@punctual/server/stores/all"
import { Effect } from "effect"
import { runAgent } from "../../app/src/agentProgram.ts"
import type { StepHook, StepName } from "../src/ports/Steps.ts"
import { armedLine } from "./AgentProcess.ts"
import { callWorkerUrl } from "./sqliteCalls.ts"

let armed: { readonly step: StepName; left: number } | undefined

const agentSteps: StepHook = {
  reached: (step) => {
    if (step !== armed?.step || --armed.left > 0) return Effect.void
    process.kill(process.pid, "SIGKILL")
    return Effect.never
  },
}

process.stdin.on("data", (chunk: Buffer) => {
  const [step, times] = chunk.toString().trim().split(" ")
  armed = { step: step as StepName, left: Number(times) }
  process.stdout.write(`${armedLine} ${step} ${times}\n`)
})
const code = await runAgent(process.argv.slice(2), {
  environment: process.env,
  adapters: { stores: allStores, buses: allBuses },
  workerUrl: new URL("../../server/src/stores/sqlite/worker.ts", import.meta.url),
  agentWorkerUrl: callWorkerUrl,
  installDriver,
  agentSteps,
  onFatal: (message) => {
    process.stderr.write(`${message}\n`)
    process.exit(1)
  },
  writeError: (message) => process.stderr.write(`${message}\n`),
})
process.exit(code)
