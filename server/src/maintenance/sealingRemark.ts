// What the operator of a store should know about the key that seals its webhook secrets: where the key is, that no
// backup contains it, and whether it opens the secrets that the store has.
import { Effect } from "effect"
import { SealedTally } from "../engine/namespaces/SealedTally.ts"
import type { SealingKeys } from "../engine/namespaces/SealingKeys.ts"
import type { SettingsRecords } from "../engine/namespaces/SettingsRecords.ts"
import type { SealedSecrets } from "../ports/StoreReport.ts"
import type { StoreError } from "../ports/TimerStore.ts"

const recordsAtOnce = 500

/** The secrets that the settings in a store hold. */
export const sealedIn = (records: SettingsRecords): Effect.Effect<SealedSecrets | undefined, StoreError> =>
  Effect.gen(function* () {
    const tally = new SealedTally()
    let version = 0
    for (;;) {
      const page = yield* records.changesAfter(version, recordsAtOnce)
      for (const record of page) {
        tally.note(record)
        version = Math.max(version, record.version)
      }
      if (page.length < recordsAtOnce) return tally.found
    }
  })

/** One or two sentences, or nothing if the store has no secrets. */
export const sealingRemark = (
  sealed: SealedSecrets | undefined,
  keys: SealingKeys,
): Effect.Effect<string | undefined> =>
  Effect.gen(function* () {
    if (sealed === undefined || !keys.isKnowable) return undefined
    yield* keys.load
    const closed = sealed.samples.filter(({ namespace, secret }) => !keys.opens(namespace, secret))
    if (closed.length > 0) {
      const names = closed.map(({ namespace }) => namespace).join(", ")
      return `The webhook secrets of ${names} cannot be opened with the key that this command finds, and a service that has no other key would wait with their webhooks: ${keys.whyClosed()}.`
    }
    return backupRemark(keys)
  })

/** What a backup leaves out; nothing if the key is in the settings. */
export const backupRemark = (keys: SealingKeys): string | undefined =>
  keys.loadedFile === undefined
    ? undefined
    : `The key that seals webhook secrets is in ${keys.loadedFile}. Backups do not contain this file: keep a copy of it, apart from them.`
