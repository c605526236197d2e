// The metrics of jobs on many timers, on the node that runs them.
import { bulkStates } from "@punctual/api/BulkJobs"
import { type Context, Effect, Metric } from "effect"
import type { BulkRecord } from "./BulkRecord.ts"

const jobsRunning = Metric.gauge("timer_bulk_jobs_running", {
  description: "Jobs on many timers that run on this node",
})
const jobsEnded = Metric.counter("timer_bulk_jobs_ended_total", {
  description: "Jobs on many timers that ended on this node, by state",
  incremental: true,
})
const timersHandled = Metric.counter("timer_bulk_timers_total", {
  description: "Timers that jobs on this node handled, by result",
  incremental: true,
})

export const bulkResults = ["replayed", "discarded", "cancelled", "inFlight", "skipped"] as const

export type BulkCounts = { readonly [result in (typeof bulkResults)[number]]?: number }

export class BulkMetrics {
  readonly #context: Context.Context<never>

  private constructor(context: Context.Context<never>) {
    this.#context = context
    this.running(0)
    for (const state of bulkStates) if (state !== "running") this.#ended(state, 0)
    for (const result of bulkResults) this.#handled(result, 0)
  }

  static readonly make = Effect.map(Effect.context<never>(), (context) => new BulkMetrics(context))

  running(jobs: number): void {
    jobsRunning.updateUnsafe(jobs, this.#context)
  }

  ended(state: BulkRecord["state"]): void {
    this.#ended(state, 1)
  }

  handled(counts: BulkCounts): void {
    for (const result of bulkResults) this.#handled(result, counts[result] ?? 0)
  }

  #ended(state: BulkRecord["state"], jobs: number): void {
    Metric.withAttributes(jobsEnded, { state }).updateUnsafe(jobs, this.#context)
  }

  #handled(result: (typeof bulkResults)[number], timers: number): void {
    Metric.withAttributes(timersHandled, { result }).updateUnsafe(timers, this.#context)
  }
}
