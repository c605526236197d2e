// A backup contains keys that may have been revoked after it was made. So after a restore, the keys of the backup do not
// work until an operator has confirmed them.
import type { DocumentRefused, Documents, DocumentsError } from "@punctual/documents/Documents"
import { DoorRecords } from "@punctual/door/DoorRecords"
import { keysKind } from "@punctual/door/KeyRecord"
import { Effect } from "effect"

/** Returns whether the store has keys. Without keys nothing is written. */
export const unconfirmKeys = (
  documents: Documents["Service"],
  nowMs: number,
): Effect.Effect<boolean, DocumentsError | DocumentRefused> =>
  Effect.gen(function* () {
    const found = yield* documents.changesAfter(keysKind, 0, 1)
    if (found.length === 0) return false
    yield* new DoorRecords(documents).raiseRestores(nowMs)
    return true
  })

export const unconfirmedRemark =
  "The keys in this store do not work until you confirm them, because some may have been revoked after the backup. Look at them with punctual keys confirm --all --dry-run, revoke what must stay revoked, then run punctual keys confirm --all."
