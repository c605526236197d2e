// Builds the details of a row from its columns in SQL stores.
import type { RowDetails } from "../ports/ShardStorage.ts"
import { logOfText } from "./AttemptLogText.ts"
import { specOfText } from "./SpecText.ts"

export type DetailColumns = [
  spec: string,
  log: string | null,
  reason: string | null,
  latenessMs: number | null,
]

export const rowDetails = (...[specText, log, reason, latenessMs]: DetailColumns): RowDetails => {
  const spec = specOfText(specText)
  const lastAttempt = log === null ? undefined : logOfText(log)?.at(-1)
  return {
    ...(spec.unreadable === undefined ? { target: spec.target } : {}),
    ...(lastAttempt === undefined ? {} : { lastAttempt }),
    ...(reason === null ? {} : { reason }),
    ...(latenessMs === null ? {} : { latenessMs }),
  }
}
