// Looks at keys: the pending timer, the last life, and the lives that the caller names.
import type { Known } from "../../domain/Decision.ts"
import type { Look } from "../../ports/ShardStorage.ts"
import type { Keys, LifeRow } from "./Keys.ts"
import { textIn } from "./rows.ts"
import type { Row } from "./Session.ts"

export const lookAt = async (keys: Keys, looks: ReadonlyArray<Look>): Promise<ReadonlyArray<Known>> => {
  const found = await keys.rowsOf(looks.map(({ key }) => key))
  const [timers, lasts, named] = await Promise.all([
    pendingOf(keys, looks, found),
    Promise.all(looks.map((look, index) => lastOf(keys, look, found[index]))),
    Promise.all(looks.map((look, index) => namedIn(keys, look, found[index]))),
  ])
  return looks.map(({ lives }, index) => ({
    pending: timers[index],
    last: lasts[index],
    ...(lives === undefined ? {} : { lives: named[index] ?? [] }),
  }))
}

const pendingOf = async (keys: Keys, looks: ReadonlyArray<Look>, rows: ReadonlyArray<Row | undefined>) => {
  const timers = new Array<Known["pending"]>(looks.length)
  await Promise.all(
    [true, false].map(async (withPayload) => {
      const reads = looks.flatMap((look, index) => {
        const row = rows[index]
        const isRead =
          look.withPayload === withPayload && row !== undefined && textIn(row, "state") !== undefined
        return isRead ? [{ key: look.key, row, index }] : []
      })
      if (reads.length === 0) return
      const read = await keys.timersOf(reads, withPayload)
      reads.forEach(({ index }, place) => {
        timers[index] = read[place]
      })
    }),
  )
  return timers
}

const lastOf = async (
  keys: Keys,
  { key, withPayload }: Look,
  row: Row | undefined,
): Promise<Known["last"]> => {
  const life = await keys.lastOf(key, row)
  return life === undefined ? undefined : (await keys.livesOf([{ key, life }], withPayload))[0]
}

/** A cancel raises the revision of a life, so lives with a higher revision are searched, too. */
const namedIn = async (keys: Keys, { key, lives = [], withPayload }: Look, row: Row | undefined) => {
  if (lives.length === 0 || row === undefined) return []
  const minRevision = Math.min(...lives.map((life) => life.minRevision))
  const stored = await keys.livesFrom(key, { minRevision })
  const named = lives.flatMap(({ fireId, minRevision: from }): ReadonlyArray<LifeRow> => {
    const life = stored.find((one) => one.fireId === fireId && one.revision >= from)
    return life === undefined ? [] : [life]
  })
  return keys.livesOf(
    named.map((life) => ({ key, life })),
    withPayload,
  )
}
