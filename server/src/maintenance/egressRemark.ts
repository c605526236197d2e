// What the operator of a store should know about pending timers whose targets the egress rules refuse: they wait when
// they are due, without attempts. The command has the rules from its own settings, and resolves names on its machine.
import { Effect } from "effect"
import type { EgressGate } from "../ports/EgressGate.ts"
import { namedMost, type TargetCount } from "../ports/StoreReport.ts"

/** Lookups may hang, and the operator waits for the command. */
const checkWithinMs = 10_000
const checksAtOnce = 2

/** One or two sentences, or nothing if the rules allow all targets. */
export const egressRemark = (
  targets: ReadonlyArray<TargetCount>,
  gate: EgressGate | undefined,
): Effect.Effect<string | undefined> =>
  Effect.gen(function* () {
    if (gate === undefined || targets.length === 0) return undefined
    const refused: Array<TargetCount> = []
    const check = (target: TargetCount) =>
      Effect.map(gate.check(target.url), (report) => {
        // A name that cannot be resolved here may be known to the service, so it is not counted as refused.
        const isRefused = report?.isAllowed === false && report.addresses.length > 0
        if (isRefused || isRefusedByName(gate, target.url)) refused.push(target)
      })
    yield* Effect.forEach(targets, check, { concurrency: checksAtOnce, discard: true }).pipe(
      Effect.timeoutOption(checkWithinMs),
    )
    return refused.length === 0 ? undefined : remarkOn(refused)
  })

const isRefusedByName = (gate: EgressGate, url: string): boolean =>
  gate.refusalOf({ type: "webhook", url, method: "POST", timeoutMs: 1, body: "envelope" }) !== undefined

const remarkOn = (refused: ReadonlyArray<TargetCount>): string => {
  const count = refused.reduce((sum, target) => sum + target.count, 0)
  const named = refused
    .toSorted((a, b) => b.count - a.count)
    .slice(0, namedMost)
    .map((target) => `${target.url} (${target.count})`)
  const rest = refused.length - named.length
  const what = count === 1 ? "1 pending timer has a target" : `${count} pending timers have targets`
  return `${what} that TIMER_EGRESS, as this command finds it, does not allow: ${named.join(", ")}${rest > 0 ? `, and ${rest} more` : ""}. Such timers wait when they are due, without attempts, until TIMER_EGRESS allows the address or their expireAfter ends them.`
}
