// The verdict on lateness with readers, compared with lateness without. A ratio alone would judge fractions of a
// millisecond, which are noise. A difference alone would be too strict for a slow machine.
import type { Verdict } from "../Benchmark.ts"

const mostRatio = 1.1
const mostMoreMs = 1

export const hardlyMore = (label: string, withMs: number, withoutMs: number): Verdict => {
  const target = `≤ ${mostRatio}, or ≤ ${mostMoreMs} ms more`
  const moreMs = withMs - withoutMs
  if (!Number.isFinite(moreMs)) return { label, value: "not measured", target }
  const difference = `${Math.abs(moreMs).toFixed(1)} ms ${moreMs < 0 ? "less" : "more"}`
  return {
    label,
    value: `${(withMs / withoutMs).toFixed(2)} (${difference})`,
    target,
    isReached: withMs <= withoutMs * mostRatio || moreMs <= mostMoreMs,
  }
}
