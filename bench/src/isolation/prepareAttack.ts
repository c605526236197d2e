// Starts the process of an attacker.
import { type LowPriorityOptions, LowPriorityProcess } from "../LowPriorityProcess.ts"
import type { AttackTerms } from "./AttackTerms.ts"

const script = new URL("./attacker.ts", import.meta.url)

/** Resolves when the attack can begin at once. */
export const prepareAttack = (terms: AttackTerms, options: LowPriorityOptions): Promise<LowPriorityProcess> =>
  LowPriorityProcess.prepare(script, terms, options)
