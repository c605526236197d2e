// The settings of a namespace as answers show them: secrets only by their fingerprints.
import type { PutNamespaceAnswer } from "@punctual/api/NamespaceSettings"
import { shownRetryPolicy } from "@punctual/api/RetryPolicy"
import type { Caller } from "@punctual/door/Caller"
import type { SettingsRecord } from "../engine/namespaces/SettingsRecords.ts"
import { onDeadShownTo } from "./shownTo.ts"

export const shownSettings = (
  { namespace, settings, version, updatedAt }: SettingsRecord,
  caller: Caller,
): PutNamespaceAnswer["settings"] => {
  const {
    webhookSecrets = [],
    retryPolicy,
    onDead,
    maxInFlight,
    maxPending,
    createsPerSecond,
    pausedSinceMs,
    pauseReason,
  } = settings
  return {
    namespace,
    webhookSecrets: webhookSecrets.map(({ fingerprint }) => ({ fingerprint })),
    ...(retryPolicy === undefined ? {} : { retryPolicy: shownRetryPolicy(retryPolicy) }),
    ...(onDead === undefined ? {} : { onDead: onDeadShownTo(caller, namespace, onDead) }),
    ...(maxInFlight === undefined ? {} : { maxInFlight }),
    ...(maxPending === undefined ? {} : { maxPending }),
    ...(createsPerSecond === undefined ? {} : { createsPerSecond }),
    paused: pausedSinceMs !== undefined,
    ...(pausedSinceMs === undefined ? {} : { pausedSince: pausedSinceMs }),
    ...(pauseReason === undefined ? {} : { pauseReason }),
    ...(version === 0 ? {} : { updatedAt }),
  }
}
