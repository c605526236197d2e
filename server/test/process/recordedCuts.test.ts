// What a kill or a power cut leaves at any moment of several processes with merges, checkpoints and recoveries, from a
// recording of their writes and syncs. `npm run test:matrix -- --only cuts` tries 20,000 cuts and prints its progress.
import { expect, test } from "bun:test"
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { recordDisk, type TriedCut, tryCuts } from "../../testkit/cuts/RecordedCuts.ts"
import { recordedCuts, reportProgress } from "../../testkit/effort.ts"
import { SeededRandom } from "../../testkit/SeededRandom.ts"
import { describeFaults } from "../../testkit/Strace.ts"

/** Memory, if the machine has such a folder: thousands of small stores are made and thrown away. */
const quickFolder = existsSync("/dev/shm") ? "/dev/shm" : tmpdir()

const reportEvery = 1_000
const faultsShown = 5

describeFaults("a recorded disk", () => {
  test(
    "after a kill or a power cut at any operation, all answered writes are there once, in all orders",
    async () => {
      const { seed } = new SeededRandom()
      const folder = mkdtempSync(join(quickFolder, "punctual-cuts-"))
      const faults: Array<TriedCut> = []
      const forms = new Map<string, number>()
      try {
        const disk = await recordDisk(folder, seed)
        reportProgress(
          `seed ${seed}: recorded ${disk.operations.length} operations of ${disk.states.length - 1} writes`,
        )
        const left = join(folder, "left")
        mkdirSync(left)
        let tried = 0
        for (const cut of tryCuts(disk, left, recordedCuts)) {
          tried++
          const form = cut.isLossy ? `${cut.form} with losses` : cut.form
          forms.set(form, (forms.get(form) ?? 0) + 1)
          if (cut.fault !== undefined) faults.push(cut)
          if (faults.length === faultsShown) break
          if (tried % reportEvery === 0)
            reportProgress(`${tried} of ${recordedCuts} cuts, ${faults.length} with faults`)
        }
        reportProgress(`cuts by form: ${[...forms].map(([form, count]) => `${form} ${count}`).join(", ")}`)
        // With these words, npm test never runs the file again: another run would make other writes.
        expect({ seed, "broken promises": faults }).toEqual({ seed, "broken promises": [] })
        expect(tried).toBe(recordedCuts)
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    },
    45 * 60_000,
  )
})
