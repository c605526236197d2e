/** The values that states, errors and reasons of the API can have. A test compares them with the contract. */
export const stateWords = ["pending", "delivered", "cancelled", "dead"] as const

export const errorWords = ["timeout", "network", "4xx", "5xx"] as const

export const reasonWords = [
  "attemptsExhausted",
  "durationExhausted",
  "expired",
  "refused",
  "egressRefused",
  "invalidTarget",
  "notDead",
] as const
