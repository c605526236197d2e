// A disk that fails at any step of a recovery, a commit, a merge or a checkpoint. `npm run test:matrix -- --only cuts` tries
// 400 steps.
import { expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TriedFault, tryFaults } from "../../testkit/cuts/RecordedFaults.ts"
import { recordedFaults, reportProgress } from "../../testkit/effort.ts"
import { SeededRandom } from "../../testkit/SeededRandom.ts"
import { describeFaults } from "../../testkit/Strace.ts"

const reportEvery = 20

describeFaults("a recorded disk that fails", () => {
  test(
    "after a failed read, write or sync at any step, all answered writes are there once, in all orders",
    async () => {
      const { seed } = new SeededRandom()
      const folder = mkdtempSync(join(tmpdir(), "punctual-faults-"))
      const tried: Array<TriedFault> = []
      try {
        for await (const fault of tryFaults(folder, seed, recordedFaults)) {
          tried.push(fault)
          expect({ seed, fault, found: fault.found }).toEqual({ seed, fault, found: undefined })
          if (tried.length % reportEvery === 0) reportProgress(`${tried.length} of ${recordedFaults} faults`)
        }
        const injected = tried.filter(({ isInjected }) => isInjected)
        const survived = injected.filter(({ exitCode }) => exitCode === 0)
        reportProgress(
          `${injected.length} faults took effect; the process went on after ${survived.length} of them`,
        )
        expect(injected.length).toBeGreaterThan(recordedFaults / 2)
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    },
    45 * 60_000,
  )
})
