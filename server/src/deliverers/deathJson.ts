// The body of a call about a dead timer: the fields of the timer's own envelope, and how the timer ended.
import { formatInstant } from "@punctual/api/Instant"
import type { Death } from "../domain/Timer.ts"
import type { Fire } from "../ports/Deliverer.ts"

export const deadType = "timer.dead"

/** The fields that say how it ended, each with a comma before it. */
export const deathJson = ({ reason, attempts, lastAttempt }: Death): string =>
  `,"reason":${JSON.stringify(reason)},"attempts":${attempts}` +
  (lastAttempt === undefined
    ? ""
    : `,"lastAttempt":${JSON.stringify({ ...lastAttempt, at: formatInstant(lastAttempt.at) })}`)

/** The attempt in the words of the timer that died: its id, its fireId, its revision, its time. */
export const fireOfDead = (fire: Fire, { timerId, fireId, revision, executeAt }: Death): Fire => ({
  ...fire,
  timerId,
  fireId,
  revision,
  executeAt,
})
