import type { Timer } from "../api.ts"

/** A retry policy in a few words. */
export const policyText = (policy: Timer["retryPolicy"]): string => {
  const within = policy.maxDuration === undefined ? "" : `, within ${policy.maxDuration}`
  if ("waits" in policy)
    return `${attemptsText(policy.waits.length + 1)}, waits ${policy.waits.join(", ")}${within}`
  const { maxAttempts, initialInterval, backoffMultiplier, maxInterval } = policy
  if (maxAttempts === 1) return attemptsText(1)
  return `${attemptsText(maxAttempts)}, waits from ${initialInterval}, × ${backoffMultiplier}, up to ${maxInterval}${within}`
}

const attemptsText = (count: number): string => (count === 1 ? "1 attempt" : `up to ${count} attempts`)
