// Metrics about messages, as Prometheus text. There can be many tenants, so a label for each would grow without bound.
// The tenants that send most have a series of their own, and the rest share `other`.
import { executionFailedType } from "@punctual/api/agent/ExecutionFailed"
import { executionStartedType } from "@punctual/api/agent/ExecutionStarted"
import { executionSucceededType } from "@punctual/api/agent/ExecutionSucceeded"
import { serviceCallEventTypes } from "@punctual/api/agent/ServiceCallChanged"
import { startExecutionType } from "@punctual/api/agent/StartExecution"
import { submitServiceCallType } from "@punctual/api/agent/SubmitServiceCall"
import { dueTimeReachedType } from "@punctual/api/DueTimeReached"
import type { BusError, BusSample, Observed } from "@punctual/bus/Bus"
import { TenantCounters } from "@punctual/bus/TenantCounters"
import { Effect, Option } from "effect"
import type { WallClock } from "../ports/WallClock.ts"

/** Messages of other services on the shared topic. The timer service ignores them, and they are not unknown types. */
const elsewhere = new Set<string>([
  dueTimeReachedType,
  submitServiceCallType,
  startExecutionType,
  executionStartedType,
  executionSucceededType,
  executionFailedType,
  ...serviceCallEventTypes,
])

type Counted = Exclude<Observed["event"], "otherType">

const counters: { readonly [event in Counted]: { readonly name: string; readonly help: string } } = {
  received: { name: "timer_bus_received_total", help: "Commands received, without redeliveries" },
  redelivered: { name: "timer_bus_redelivered_total", help: "Deliveries of commands after their first" },
  processed: { name: "timer_bus_processed_total", help: "Commands handled and acknowledged" },
  undeliverable: { name: "timer_bus_undeliverable_total", help: "Messages stored as undeliverable" },
}

interface Measures {
  readonly isConnected: boolean
  readonly lag: number
  readonly oldestUndeliverableAt: number | undefined
}

const measureWithinMs = 2_000

/** How many unknown types the log has named at most. */
const typesTold = 100

export class BusMetrics {
  readonly #tenants = new TenantCounters<Counted>({ shown: 50 })
  readonly #told = new Set<string>()
  readonly #tell: (type: string) => void
  #unknownTypes = 0
  /** The last value that the broker reported. */
  #oldestUndeliverableAt: number | undefined

  private constructor(tell: (type: string) => void) {
    this.#tell = tell
  }

  static readonly make = Effect.map(Effect.context<never>(), (context) => {
    const runFork = Effect.runForkWith(context)
    return new BusMetrics((type) => {
      runFork(
        Effect.logInfo(`messages of the unknown type ${JSON.stringify(type)} are acknowledged and ignored`),
      )
    })
  })

  count({ event, tenant, type = "" }: Observed): void {
    if (event !== "otherType") {
      this.#tenants.count(event, tenant)
      return
    }
    if (elsewhere.has(type)) return
    this.#unknownTypes++
    const shown = type.slice(0, 100)
    if (this.#told.size === typesTold || this.#told.has(shown)) return
    this.#told.add(shown)
    this.#tell(shown)
  }

  /** Gauges are left out while the broker does not answer. */
  readonly text = (
    sample: Effect.Effect<BusSample, BusError>,
    oldestAt: Effect.Effect<number | undefined, BusError>,
    wall: WallClock["Service"],
  ): Effect.Effect<string> => {
    const self = this
    const measured = Effect.gen(function* () {
      const { isConnected, lag } = yield* sample
      // A message still exists while the broker is unreachable, so the age is measured from the last known value.
      const asked = isConnected ? yield* Effect.timeoutOption(oldestAt, measureWithinMs) : Option.none()
      if (Option.isSome(asked)) self.#oldestUndeliverableAt = asked.value
      return { isConnected, lag, oldestUndeliverableAt: self.#oldestUndeliverableAt }
    })
    return measured.pipe(
      Effect.catch((error) =>
        Effect.as(Effect.logWarning(`the bus could not be measured: ${error.message}`), undefined),
      ),
      Effect.map((measures) => [...this.#counterLines(), ...gaugeLines(measures, wall.now()), ""].join("\n")),
    )
  }

  #counterLines(): ReadonlyArray<string> {
    const samples = [...this.#tenants.samples()]
    return [
      ...Object.entries(counters).flatMap(([event, { name, help }]) => [
        ...heading(name, help, "counter"),
        ...samples
          .filter((sample) => sample.event === event)
          .map(({ tenant, value }) => `${name}{tenant="${tenant}"} ${value}`),
      ]),
      ...heading(
        "timer_bus_unknown_types_total",
        "Messages of an unknown type, acknowledged and ignored",
        "counter",
      ),
      `timer_bus_unknown_types_total ${this.#unknownTypes}`,
    ]
  }
}

const gaugeLines = (sample: Measures | undefined, nowMs: number): ReadonlyArray<string> => {
  const gauge = (name: string, help: string, value: number) => [
    ...heading(name, help, "gauge"),
    `${name} ${value}`,
  ]
  const connected = gauge(
    "timer_bus_connected",
    "1 while the broker is reachable",
    sample?.isConnected === true ? 1 : 0,
  )
  if (sample === undefined) return connected
  const oldestAgeMs =
    sample.oldestUndeliverableAt === undefined ? 0 : Math.max(0, nowMs - sample.oldestUndeliverableAt)
  return [
    ...connected,
    ...gauge("timer_bus_lag_messages", "Messages on the topic that are not acknowledged yet", sample.lag),
    ...gauge(
      "timer_bus_oldest_undeliverable_age_seconds",
      "Age of the oldest undeliverable message of all tenants; 0 if there is none",
      oldestAgeMs / 1_000,
    ),
  ]
}

const heading = (name: string, help: string, type: "counter" | "gauge"): ReadonlyArray<string> => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
]
