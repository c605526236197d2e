// What a commit intends to do, as the shard's document stores it. Any process can carry it out: the owner that wrote it,
// the next owner, or a reader that meets a half-applied commit.

import type { Document } from "@punctual/documents/mongodb/Commands"
import { addTallies, emptyTally, type Tally } from "../../domain/Decision.ts"
import type { KeyChange } from "../../ports/ShardStorage.ts"
import { lifeDocument, timerDocument } from "./rows.ts"

/** A change of one key. Absent fields change nothing. */
export interface IntendedChange {
  readonly uuid: string
  readonly namespace: string
  readonly timer_id: string
  readonly expects: {
    /** `null` expects no pending timer. */
    readonly pending?: Document | null
    readonly last?: string | null
    readonly life?: { readonly fire_id: string; readonly revision: number; readonly state: string | null }
  }
  readonly pending?: Document | null
  /** `null` removes it. */
  readonly payload?: Uint8Array | null
  readonly keeps_spec?: true
  readonly life?: Document
  /** The number of an added life. A corrected life keeps its number. */
  readonly entry?: number
  readonly removes_life?: true
  readonly tally: Partial<Tally>
}

export interface Intent {
  /** By this id the owner recognises its own intent, if it does not know whether its commit arrived. */
  readonly id: string
  readonly stamp: string
  readonly tally: Tally
  /** Absent once a change is known to have missed: then everything is applied, and nothing may try it again. */
  readonly changes?: ReadonlyArray<IntendedChange>
}

/**
 * Epoch and number of a commit, in a form that sorts. Each document has the stamp of its last change, and a change
 * applies only over a lower stamp.
 */
export const stampOf = (epoch: number, number: number): string => `${padded(epoch, 11)}.${padded(number, 14)}`

const padded = (value: number, digits: number): string => value.toString(16).padStart(digits, "0")

/** Inserts without an owner have no commit. Every commit comes after them. */
export const stampOfForeign = ""

/** `nextEntry` gives the number of an added life. */
export const intendedChange = (change: KeyChange, nextEntry: () => number): IntendedChange => {
  const { key, pending, finished, removesLife, tally } = change
  return {
    uuid: key.uuid,
    namespace: key.namespace,
    timer_id: key.timerId,
    expects: expectsOf(change),
    ...(pending === undefined ? {} : { pending: pending === null ? null : timerDocument(pending) }),
    ...(pending && change.payload === "write" ? { payload: pending.payload ?? null } : {}),
    ...(change.keepsSpec === true ? { keeps_spec: true } : {}),
    ...(finished === undefined ? {} : { life: lifeDocument(finished) }),
    ...(finished === undefined || corrects(change) ? {} : { entry: nextEntry() }),
    ...(removesLife === true ? { removes_life: true } : {}),
    tally,
  }
}

const corrects = ({ expects: { life } }: KeyChange): boolean => life !== undefined && life.state !== null

const expectsOf = ({ expects: { pending, last, life } }: KeyChange): IntendedChange["expects"] => ({
  ...(pending === undefined ? {} : { pending: pending === null ? null : stateOf(pending) }),
  ...(last === undefined ? {} : { last }),
  ...(life === undefined
    ? {}
    : { life: { fire_id: life.fireId, revision: life.minRevision, state: life.state } }),
})

/** `asked_at: null` also matches a document without this field. */
const stateOf = (state: NonNullable<KeyChange["expects"]["pending"]>): Document => ({
  fire_id: state.fireId,
  attempts: state.attempts,
  revision: state.revision,
  asked_at: state.askedAt ?? null,
})

/** The tallies of the changes that were executed. */
export const tallyOf = (
  changes: ReadonlyArray<IntendedChange>,
  isExecuted: (index: number) => boolean = () => true,
): Tally =>
  changes.reduce((sum, { tally }, index) => (isExecuted(index) ? addTallies(sum, tally) : sum), emptyTally)
