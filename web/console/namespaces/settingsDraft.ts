/**
 * The form of a namespace's settings: what its inputs hold, and which fields of the request follow from a change. A
 * field that the reader did not change is never sent, so two readers do not undo each other's changes.
 */
import type { NamespaceView } from "../api.ts"
import {
  emptyDraft,
  noTarget,
  numberOrText,
  type RetryDraft,
  retryDraftOf,
  retryPolicyOf,
  type TargetDraft,
  targetDraftOf,
  targetOf,
} from "../new/TimerDraft.ts"
import type { NamespaceChanges } from "./usePutNamespace.ts"

export interface SettingsDraft {
  readonly maxPending: string
  readonly maxInFlight: string
  readonly createsPerSecond: string
  readonly retry: RetryDraft
  readonly onDead: TargetDraft
}

export const settingsDraftOf = (view: NamespaceView): SettingsDraft => ({
  maxPending: shown(view.maxPending),
  maxInFlight: shown(view.maxInFlight),
  createsPerSecond: shown(view.createsPerSecond),
  retry: view.retryPolicy === undefined ? emptyDraft.retry : retryDraftOf(view.retryPolicy),
  onDead: view.onDead === undefined ? noTarget : targetDraftOf(view.onDead),
})

const shown = (count: number | undefined): string => (count === undefined ? "" : String(count))

/** An empty input means the default. */
const numberOrNull = (text: string): number | string | null =>
  text.trim() === "" ? null : numberOrText(text.trim())

const valuesOf = (draft: SettingsDraft): NamespaceChanges => ({
  maxPending: numberOrNull(draft.maxPending),
  maxInFlight: numberOrNull(draft.maxInFlight),
  createsPerSecond: numberOrNull(draft.createsPerSecond),
  retryPolicy: retryPolicyOf(draft.retry) ?? null,
  onDead: targetOf(draft.onDead) ?? null,
})

/** The fields that the reader changed. `view` is what the form began with. */
export const changesOf = (draft: SettingsDraft, view: NamespaceView): NamespaceChanges => {
  const before = valuesOf(settingsDraftOf(view))
  return Object.fromEntries(
    Object.entries(valuesOf(draft)).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]),
    ),
  )
}
