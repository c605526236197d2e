// What the parts of the agent count, as Prometheus text. No label names a tenant or a call.
import { Effect, Option } from "effect"
import { Execution } from "./execution/Execution.ts"
import { Orchestration } from "./orchestration/Orchestration.ts"
import { OutboxDispatcher } from "./outbox/OutboxDispatcher.ts"

interface Measured {
  readonly name: string
  readonly kind: "counter" | "gauge"
  readonly help: string
  readonly value: number
}

const counter = (name: string, help: string, value: number): Measured => ({
  name: `agent_${name}_total`,
  kind: "counter",
  help,
  value,
})

const gauge = (name: string, help: string, value: number): Measured => ({
  name: `agent_${name}`,
  kind: "gauge",
  help,
  value,
})

const linesOf = ({ name, kind, help, value }: Measured): string =>
  `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${name} ${value}\n`

/** A module that runs in another process is left out. */
export const agentMetrics: Effect.Effect<string> = Effect.gen(function* () {
  const dispatcher = Option.getOrUndefined(yield* Effect.serviceOption(OutboxDispatcher))?.counts()
  const orchestration = Option.getOrUndefined(yield* Effect.serviceOption(Orchestration))?.counts()
  const execution = Option.getOrUndefined(yield* Effect.serviceOption(Execution))?.counts()
  const measured: ReadonlyArray<Measured> = [
    ...(dispatcher === undefined
      ? []
      : [
          counter("messages_published", "Messages that the broker has.", dispatcher.published),
          counter("publish_failures", "Publishes that failed and are tried again.", dispatcher.failed),
          counter("messages_dropped", "Messages that no broker can take.", dispatcher.dropped),
        ]),
    ...(orchestration === undefined
      ? []
      : [
          counter("calls_rescued", "Calls whose message was lost.", orchestration.rescued),
          counter("calls_pruned", "Finished calls that were removed.", orchestration.pruned),
          counter("messages_ignored", "Messages that came again or too late.", orchestration.ignored),
        ]),
    ...(execution === undefined
      ? []
      : [
          gauge("calls_running", "Requests that are being made.", execution.running),
          gauge("calls_waiting", "Attempts that wait for their turn.", execution.waiting),
          counter("calls_made", "Requests that were made.", execution.called),
        ]),
  ]
  return measured.map(linesOf).join("")
})
