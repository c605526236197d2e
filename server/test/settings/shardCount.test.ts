// A store may have a default number of shards of its own, and refuse smaller numbers.
import { describe, expect, test } from "bun:test"
import { allBuses } from "../../src/buses/all.ts"
import { readOptions } from "../../src/inprocess/PunctualOptions.ts"
import type { StoreAdapter } from "../../src/ports/StoreAdapter.ts"
import { type Environment, readConfiguration, readStore } from "../../src/settings/Configuration.ts"
import { allStores } from "../../src/stores/all.ts"

/** All stores, as if each wanted 64 shards and at least 32. */
const stores = allStores.map((adapter): StoreAdapter => {
  const wide: StoreAdapter = {
    ...adapter,
    shards: { byDefault: 64, fewest: 32 },
    parse: (url) => {
      const parsed = adapter.parse(url)
      return "problem" in parsed ? parsed : { value: { ...parsed.value, adapter: wide } }
    },
  }
  return wide
})

const shardsOf = (environment: Environment) => {
  const read = readConfiguration(environment, { stores, buses: allBuses })
  return "problems" in read ? read.problems : read.configuration.shards
}

const shardsOfCommand = (environment: Environment) => {
  const read = readStore(environment, stores)
  return "problems" in read ? read.problems : read.shards
}

const shardsInProgram = (shards?: number) => {
  try {
    return readOptions({ store: "memory:", ...(shards === undefined ? {} : { shards }) }, stores).shards
  } catch (error) {
    return String(error)
  }
}

describe("the number of shards", () => {
  test("is the default of the store, and a setting overrides it", () => {
    for (const read of [shardsOf, shardsOfCommand]) {
      expect(read({ TIMER_STORE_URL: "memory:" })).toBe(64)
      expect(read({ TIMER_STORE_URL: "memory:", TIMER_SHARDS: "32" })).toBe(32)
      expect(read({ TIMER_DB_PATH: "p.db" })).toBe(64)
    }
    expect([shardsInProgram(), shardsInProgram(40)]).toEqual([64, 40])
  })

  test("is refused if the store needs more", () => {
    const few = { TIMER_STORE_URL: "memory:", TIMER_SHARDS: "31" }
    for (const read of [shardsOf, shardsOfCommand]) {
      expect(read(few)).toEqual([expect.stringContaining("must be at least 32 with the store memory")])
    }
    expect(shardsInProgram(31)).toContain("must be at least 32 with the store memory")
  })
})
