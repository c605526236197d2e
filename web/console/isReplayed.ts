/** Whether a replay armed this life of a timer. */
import { isReplayedLife } from "@punctual/api/isReplayedLife"
import type { Timer } from "./api.ts"

type LifeTimes = Pick<Timer, "createdAt" | "executeAt" | "revision">

export const isReplayed = ({ createdAt, executeAt, revision }: LifeTimes): boolean =>
  isReplayedLife({ createdAtMs: Date.parse(createdAt), executeAtMs: Date.parse(executeAt), revision })
