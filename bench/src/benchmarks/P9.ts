// How soon a service with very many pending timers fires again after a kill -9. The time counts from the start of the
// process to the receipt of a timer that became due while the service was down.
import { atMost, type Benchmark, count, figure, leftOut, medianOf, type Report } from "../Benchmark.ts"
import { type ServerName, whyLeftOut } from "../Servers.ts"
import { type StoreKind, storeName } from "../Service.ts"
import { scaleRun } from "../scale/ScaleRun.ts"

export const P9: Benchmark = {
  id: "P9",
  title: "first due timer received after a kill -9 and restart, 10,000,000 pending",
  hasPeers: false,
  run: async ({ isQuick, stores }, progress) => {
    const rows: Array<Report["rows"][number]> = []
    const verdicts: Array<Report["verdicts"][number]> = []
    for (const { store, needs } of sides) {
      if (stores?.includes(store) === false) continue
      const why = whyLeftOut(needs)
      if (why !== undefined) {
        rows.push({ name: storeName[store], values: leftOut(why) })
        continue
      }
      const { levels, isWhole, remarks } = await scaleRun(store, "highest", isQuick, progress)
      const highest = levels.at(-1)
      if (highest === undefined) throw new Error("nothing was measured")
      const name = `${storeName[store]}, ${count(highest.pending)} pending`
      const fired = highest.startUps.map(({ firedMs }) => firedMs)
      const ready = highest.startUps.map(({ readyMs }) => readyMs)
      rows.push({
        name,
        values:
          `fires ${medianOf(fired).toFixed(0)} ms after its start (${fired.map((ms) => ms.toFixed(0)).join(", ")}); ` +
          `ready after ${medianOf(ready).toFixed(0)} ms`,
        figures: [figure("first due timer received", "ms", fired), figure("ready", "ms", ready)],
      })
      for (const values of remarks) rows.push({ name, values })
      const verdict = atMost(name, medianOf(fired) / 1_000, withinSeconds, "s")
      verdicts.push(isWhole ? verdict : { ...verdict, isReached: false })
    }
    return { rows, verdicts }
  },
}

const withinSeconds = 0.5

const sides: ReadonlyArray<{ readonly store: StoreKind; readonly needs: ReadonlyArray<ServerName> }> = [
  { store: "sqlite", needs: [] },
  { store: "postgres", needs: ["postgres"] },
]
