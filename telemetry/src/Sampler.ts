// Decides which traces are recorded. The names are those of OTEL_TRACES_SAMPLER.
import type { SpanContext } from "./SpanContext.ts"

export const samplerNames = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const

export type SamplerName = (typeof samplerNames)[number]

export interface SamplerChoice {
  readonly name: SamplerName
  /** The part of the traces to record, from 0 to 1. Only `traceidratio` uses it. */
  readonly ratio: number
}

/** Whether a span is recorded. `traceId` is the trace that it belongs to. */
export type Sampler = (parent: SpanContext | undefined, traceId: string) => boolean

export const samplerOf = ({ name, ratio }: SamplerChoice): Sampler => {
  const root = rootSampler(name, ratio)
  return name.startsWith("parentbased_")
    ? (parent, traceId) => (parent === undefined ? root(traceId) : parent.isSampled)
    : (_parent, traceId) => root(traceId)
}

const rootSampler = (name: SamplerName, ratio: number): ((traceId: string) => boolean) => {
  if (name.endsWith("always_on")) return () => true
  if (name.endsWith("always_off")) return () => false
  const below = Math.floor(ratio * 0xffff_ffff)
  return ratio >= 1 ? () => true : (traceId) => foldedOf(traceId) < below
}

/**
 * All four parts of the id count, because not every part is random: ids that are made from a UUID v7 begin with a time.
 * OpenTelemetry for JavaScript computes the same number, so both decide the same way about one trace.
 */
const foldedOf = (traceId: string): number => {
  let folded = 0
  for (let at = 0; at < 32; at += 8) folded ^= Number.parseInt(traceId.slice(at, at + 8), 16)
  return folded >>> 0
}
