// The metrics of the engine. Each metric is created once, with its labels. No label is a timer id or a namespace, and
// every label has a bound. Times are in seconds, as Prometheus expects.
import { type Context, Effect, Metric } from "effect"

export type SettledOutcome = "delivered" | "rearmed" | "retry" | "dead" | "dropped" | "superseded"
export type CommandName = "create" | "update" | "cancel" | "schedule" | "replay" | "discard"
export type OwnershipChange = "claimed" | "handedOver" | "lost"
/** What an unreadable row of the store contains. */
export type UnreadableKind = "settings" | "timers" | "lives"
export type LoopName = "firing" | "reading" | "ownership" | "committing" | "forwarding"
/**
 * The result of a write for a shard that this node does not own: executed by the owner, or stored for the next owner.
 */
export type ForwardedResult = "answered" | "inserted" | "refused" | "unknown"

const seconds = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

const schedulesProcessed = Metric.counter("timer_schedules_processed_total", {
  description: "Attempts that ended and were settled",
  incremental: true,
})
const sweepRescued = Metric.counter("timer_sweep_rescued_total", {
  description: "Due timers that no window held and the sweep found; 0 on a healthy node",
  incremental: true,
})
const fencedWrites = Metric.counter("timer_fenced_writes_total", {
  description: "Writes the store refused because another process owns their shard",
  incremental: true,
})
const lateness = Metric.histogram("timer_lateness_seconds", {
  description: "From the due time to the moment when the request of the first attempt was sent",
  boundaries: seconds,
})
const pollingDuration = Metric.histogram("timer_polling_duration_seconds", {
  description: "Duration of one sweep of one shard",
  boundaries: seconds,
})
const commitItems = Metric.histogram("timer_commit_items", {
  description: "Writes that shared a commit",
  boundaries: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],
})
const censusPasses = Metric.counter("timer_census_passes_total", {
  description: "Complete counts of the pending timers of this node's shards in the background",
  incremental: true,
})
const censusBusy = Metric.counter("timer_census_busy_seconds_total", {
  description: "Time that the count in the background spent reading the store",
  incremental: true,
})
const gauges = {
  pending: Metric.gauge("timer_pending", { description: "Pending timers in the store" }),
  inFlight: Metric.gauge("timer_in_flight", { description: "Attempts running now" }),
  slowInFlight: Metric.gauge("timer_slow_in_flight", {
    description: "Attempts running now to hosts that have been silent for 5 seconds or more",
  }),
  ready: Metric.gauge("timer_ready", { description: "Due timers waiting for an attempt" }),
  oldestDueAgeSeconds: Metric.gauge("timer_oldest_due_age_seconds", {
    description: "Age of the earliest due timer in memory that is not settled",
  }),
  windowTimers: Metric.gauge("timer_window_timers", { description: "Timers held in memory" }),
  windowBytes: Metric.gauge("timer_window_bytes", {
    description: "Estimated bytes of timers held in memory",
  }),
  congestedNamespaces: Metric.gauge("timer_congested_namespaces", {
    description: "Namespaces read through a horizon of their own, summed over shards",
  }),
  openBreakers: Metric.gauge("timer_open_breakers", { description: "Hosts whose breaker is open" }),
  egressRefusedHosts: Metric.gauge("timer_egress_refused_hosts", {
    description: "Hosts that TIMER_EGRESS refused when their timers were due, so these timers wait",
  }),
  egressRefusedTimers: Metric.gauge("timer_egress_refused_timers", {
    description:
      "Due timers that wait because TIMER_EGRESS refuses their host, as far as this node has seen them",
  }),
  pausedNamespaces: Metric.gauge("timer_paused_namespaces", {
    description: "Namespaces that an operator has paused",
  }),
  servicePaused: Metric.gauge("timer_service_paused", {
    description: "1 while all firing is stopped, by an operator or after a restore from a backup",
  }),
  sealedNamespaces: Metric.gauge("timer_sealed_namespaces", {
    description: "Namespaces whose webhook secrets cannot be opened here, so their webhooks wait",
  }),
  censusCells: Metric.gauge("timer_census_cells", {
    description: "Counts in memory by namespace and time; 0 while the store is small or TIMER_CENSUS is off",
  }),
  ownedShards: Metric.gauge("timer_owned_shards", { description: "Shards this process fires" }),
} as const

export type GaugeName = keyof typeof gauges

/**
 * One metric for each value of a label. Each is made with its label: `Metric.withAttributes` would build the label anew
 * with every update, and some of these are updated with every attempt. `Object.fromEntries` widens the keys to `string`;
 * the cast keeps the given names in the type.
 */
const labelled = <Names extends string, Made>(
  names: ReadonlyArray<Names>,
  label: string,
  make: (attributes: { readonly [label: string]: string }) => Made,
) =>
  Object.fromEntries(names.map((name) => [name, make({ [label]: name })])) as unknown as {
    readonly [name in Names]: Made
  }

const byCommand = labelled(
  ["create", "update", "cancel", "schedule", "replay", "discard"],
  "command",
  (attributes) =>
    Metric.counter("timer_commands_received_total", {
      description: "Creates, updates, cancels, schedules, replays and discards that reached the engine",
      incremental: true,
      attributes,
    }),
)
const byOutcome = labelled(
  ["delivered", "rearmed", "retry", "dead", "dropped", "superseded", "abandoned"],
  "outcome",
  (attributes) =>
    Metric.counter("timer_deliveries_total", {
      description: "Attempts by outcome",
      incremental: true,
      attributes,
    }),
)
const byChange = labelled(["claimed", "handedOver", "lost"], "change", (attributes) =>
  Metric.counter("timer_ownership_changes_total", {
    description: "Shards that this process claimed, handed to another or lost to one",
    incremental: true,
    attributes,
  }),
)
const byLoop = labelled(
  ["firing", "reading", "ownership", "committing", "forwarding"],
  "loop",
  (attributes) =>
    Metric.gauge("timer_loop_progress_age_seconds", {
      description: "Time since a loop last made progress",
      attributes,
    }),
)
const byUnreadable = labelled(["settings", "timers", "lives"], "what", (attributes) =>
  Metric.gauge("timer_store_unreadable", {
    description:
      "Rows that cannot be read and are set aside, as far as this node has seen them; punctual doctor names all",
    attributes,
  }),
)
const byForwarded = labelled(["answered", "inserted", "refused", "unknown"], "result", (attributes) =>
  Metric.counter("timer_forwarded_requests_total", {
    description: "Writes for shards that another node owns, by result",
    incremental: true,
    attributes,
  }),
)

export class EngineMetrics {
  readonly #context: Context.Context<never>
  readonly #settled = new Map<SettledOutcome, number>()

  private constructor(context: Context.Context<never>) {
    this.#context = context
    // Sets them to 0, so that a scrape shows them before their first event.
    for (const metrics of [byCommand, byOutcome, byForwarded, byChange])
      for (const metric of Object.values(metrics)) metric.updateUnsafe(0, context)
    sweepRescued.updateUnsafe(0, context)
    censusPasses.updateUnsafe(0, context)
    censusBusy.updateUnsafe(0, context)
    fencedWrites.updateUnsafe(0, context)
    schedulesProcessed.updateUnsafe(0, context)
  }

  static readonly make = Effect.map(Effect.context<never>(), (context) => new EngineMetrics(context))

  received(command: CommandName): void {
    byCommand[command].updateUnsafe(1, this.#context)
  }

  /** The attempt ended without an outcome, because others needed its slot. */
  abandoned(): void {
    byOutcome.abandoned.updateUnsafe(1, this.#context)
  }

  /** Counts an attempt. `flush` must follow. */
  settled(outcome: SettledOutcome): void {
    this.#settled.set(outcome, (this.#settled.get(outcome) ?? 0) + 1)
  }

  /** Passes on what was counted. One update of a metric takes as long as counting ten attempts. */
  flush(): void {
    for (const [outcome, attempts] of this.#settled) {
      schedulesProcessed.updateUnsafe(attempts, this.#context)
      byOutcome[outcome].updateUnsafe(attempts, this.#context)
    }
    this.#settled.clear()
  }

  forwarded(result: ForwardedResult): void {
    byForwarded[result].updateUnsafe(1, this.#context)
  }

  started(latenessMs: number): void {
    lateness.updateUnsafe(latenessMs / 1_000, this.#context)
  }

  committed(items: number): void {
    commitItems.updateUnsafe(items, this.#context)
  }

  swept(durationMs: number): void {
    pollingDuration.updateUnsafe(durationMs / 1_000, this.#context)
  }

  rescued(timers: number): void {
    sweepRescued.updateUnsafe(timers, this.#context)
  }

  censusPassed(): void {
    censusPasses.updateUnsafe(1, this.#context)
  }

  censusBusy(durationMs: number): void {
    censusBusy.updateUnsafe(durationMs / 1_000, this.#context)
  }

  ownershipChanged(change: OwnershipChange): void {
    byChange[change].updateUnsafe(1, this.#context)
  }

  fenced(writes: number): void {
    fencedWrites.updateUnsafe(writes, this.#context)
  }

  gauge(name: GaugeName, value: number): void {
    gauges[name].updateUnsafe(value, this.#context)
  }

  unreadable(what: UnreadableKind, rows: number): void {
    byUnreadable[what].updateUnsafe(rows, this.#context)
  }

  loopAge(loop: LoopName, ageSeconds: number): void {
    byLoop[loop].updateUnsafe(ageSeconds, this.#context)
  }
}
