// The process of the console's readers. The bench says how many (ReaderTerms.ts), and when.
import { attackerAddress } from "../isolation/attackConnections.ts"
import { obeyBench } from "../obeyBench.ts"
import { ApiReader } from "./ApiReader.ts"
import { ConsolePages } from "./ConsolePages.ts"
import type { ReaderTerms } from "./ReaderTerms.ts"

/** The pages open one after another in this time. */
const openWithinMs = 2_000

await obeyBench<ReaderTerms>(async ({ url, apiReaders, pages }, tally) => {
  const browser = pages === 0 ? undefined : await ConsolePages.prepare()
  return {
    begin: () => {
      for (let index = 0; index < apiReaders; index++) {
        const phase = index / apiReaders
        const from = attackerAddress(index)
        setTimeout(() => ApiReader.open({ url, from, phase, tally }), phase * openWithinMs)
      }
      for (let page = 0; page < pages; page++) {
        browser?.open(url, tally).catch(() => tally.add("page failed"))
      }
    },
    end: async () => await browser?.[Symbol.asyncDispose](),
  }
})
