// Whether the starter of a job still has the rights that the job uses. A job runs for as long as its filter takes, so the
// answer can change: keys are revoked, they expire, and a store that needed no keys begins to need them.
import type { Action } from "@punctual/api/CallTerms"
import type { AuthMode } from "@punctual/door/Gate"
import type { KeyDirectory } from "@punctual/door/KeyDirectory"
import type { WhyNotValid } from "@punctual/door/KnownKeys"
import { type BulkRecord, namespacesOfJob } from "./BulkRecord.ts"

export interface Starters {
  /** Why the job may not go on, as a sentence; `undefined` if it may. */
  whyNot(job: BulkRecord, nowMs: number): string | undefined
}

/** The actions that a job needs in all its namespaces. */
export const actionsOf: Readonly<Record<BulkRecord["do"], ReadonlyArray<Action>>> = {
  replay: ["timers.read", "dead.replay"],
  discard: ["timers.read", "dead.discard"],
  cancel: ["timers.read", "timers.cancel"],
}

/** In a service. */
export const startersWithKeys = (
  keys: Pick<KeyDirectory["Service"], "judgeId" | "hasHadKey">,
  mode: AuthMode,
): Starters => ({
  whyNot: (job, nowMs) => {
    const { keyId } = job.startedBy
    if (keyId === undefined) {
      const areRequired = mode === "required" || (mode === "auto" && keys.hasHadKey())
      return areRequired ? "The job was started without a key, and keys are required now." : undefined
    }
    const verdict = keys.judgeId(keyId, nowMs)
    if ("why" in verdict) return whyEnded[verdict.why]
    const { granted } = verdict.key
    for (const namespace of namespacesOfJob(job))
      for (const action of actionsOf[job.do])
        if (!granted.may(action, namespace))
          return `The key that started the job has no longer the action ${action} in the namespace ${namespace}.`
    return undefined
  },
})

/** In a program with the engine inside, which is trusted and has no keys. */
export const startersWithoutKeys: Starters = {
  whyNot: ({ startedBy }) =>
    startedBy.keyId === undefined
      ? undefined
      : "The job was started with a key. Only a service can check keys, but a program runs on this store now.",
}

const whyEnded: Readonly<Record<WhyNotValid, string>> = {
  wrong: "The key that started the job does not exist any more.",
  expired: "The key that started the job has expired.",
  revoked: "The key that started the job has been revoked.",
  unconfirmed: "The key that started the job is from before a restore, and nobody has confirmed it.",
}
