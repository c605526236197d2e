// What the operator of a store should know about pending timers whose targets the egress rules refuse: they wait when
// they are due, without attempts. The command has the rules from its own settings, and resolves names on its machine.

import type { EgressGate } from "@punctual/egress/EgressGate"
import { Effect } from "effect"
import { namedMost, type StoreReport, type TargetCount } from "../ports/StoreReport.ts"

/** Lookups may hang, and the operator waits for the command. */
const checkWithinMs = 10_000
const checksAtOnce = 2

/** The egress rules that a command found in its settings, or what is wrong with the settings. */
export type CommandEgress =
  | { readonly problem: string }
  | {
      /** `undefined` if the rules allow everything. */
      readonly gate: EgressGate | undefined
      /** The rules as an operator writes them. */
      readonly text: string
      /** Whether the settings contain them, or they are the default. */
      readonly isSet: boolean
    }

/** A few sentences, or nothing if the rules allow all targets. */
export const egressRemark = (
  { targets, overdue }: Pick<StoreReport, "targets" | "overdue">,
  egress: CommandEgress,
): Effect.Effect<string | undefined> =>
  Effect.gen(function* () {
    if ("problem" in egress) {
      return `${egress.problem} So this command did not check the targets of pending timers.`
    }
    if (targets.length === 0) return undefined
    const { gate } = egress
    if (gate === undefined) return overdue.count > 0 && !egress.isSet ? notCheckedText : undefined
    const refused: Array<TargetCount> = []
    const check = (target: TargetCount) =>
      Effect.map(gate.check(target.url), (report) => {
        // A name that cannot be resolved here may be known to the service, so it is not counted as refused.
        const isRefused = report?.isAllowed === false && report.isKnown
        if (isRefused || isRefusedByName(gate, target.url)) refused.push(target)
      })
    yield* Effect.forEach(targets, check, { concurrency: checksAtOnce, discard: true }).pipe(
      Effect.timeoutOption(checkWithinMs),
    )
    return refused.length === 0 ? undefined : remarkOn(refused, egress.text)
  })

const notCheckedText =
  "This command did not check whether the egress rules allow the targets of pending timers, because its settings do not contain TIMER_EGRESS. Run it with the settings of the service, for example with TIMER_CONFIG."

const isRefusedByName = (gate: EgressGate, url: string): boolean => gate.refusalOf(url) !== undefined

const remarkOn = (refused: ReadonlyArray<TargetCount>, egressText: string): string => {
  const count = refused.reduce((sum, target) => sum + target.count, 0)
  const named = refused
    .toSorted((a, b) => b.count - a.count)
    .slice(0, namedMost)
    .map((target) => `${target.url} (${target.count})`)
  const rest = refused.length - named.length
  const what = count === 1 ? "1 pending timer has a target" : `${count} pending timers have targets`
  return `${what} that TIMER_EGRESS does not allow (this command uses TIMER_EGRESS=${egressText}): ${named.join(", ")}${rest > 0 ? `, and ${rest} more` : ""}. Such timers wait when they are due, without attempts, until TIMER_EGRESS allows the address or their expireAfter ends them. To see what the running service says: punctual egress check URL.`
}
