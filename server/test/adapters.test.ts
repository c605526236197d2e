// Adapters describe themselves. The test adds a toy store and a toy bus, which nothing in the program knows, to the
// lists. The service and every command then work on them, or answer with the adapter's own sentence.
import { describe, expect, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { LocalBus } from "@punctual/bus/local/LocalBus"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { allBuses } from "../src/buses/all.ts"
import { readOptions } from "../src/inprocess/PunctualOptions.ts"
import type { BusAdapter } from "../src/ports/BusAdapter.ts"
import type { StoreAdapter, StoreChoice } from "../src/ports/StoreAdapter.ts"
import { StoreClock } from "../src/ports/StoreClock.ts"
import type { StoreReport } from "../src/ports/StoreReport.ts"
import type { InstallDriver } from "../src/program/drivers.ts"
import { layerLogs } from "../src/program/Logs.ts"
import { type ServiceParts, serviceOf } from "../src/service.ts"
import { type Environment, readConfiguration } from "../src/settings/Configuration.ts"
import { storeKeeping } from "../src/storeKeeping.ts"
import { allStores } from "../src/stores/all.ts"
import { type MemoryDatabase, makeMemoryDatabase } from "../src/stores/memory/MemoryDatabase.ts"
import { MemoryStore } from "../src/stores/memory/MemoryStore.ts"
import { eventually } from "../testkit/eventually.ts"
import { Receiver } from "../testkit/Receiver.ts"
import { run } from "./cli/CommandFixture.ts"

/** Every toy of this process, by name. Like a database, a toy stays when the program that opened it ends. */
class ToyBox {
  readonly #databases = new Map<string, MemoryDatabase>()
  /** The installed drivers and the opened stores, in order. */
  readonly events: Array<string> = []

  database(name: string): MemoryDatabase {
    const found = this.#databases.get(name) ?? makeMemoryDatabase({ shards: 4 })
    this.#databases.set(name, found)
    return found
  }

  readonly installDriver: InstallDriver = (name) =>
    Effect.sync(() => void this.events.push(`install ${name}`))

  readonly store: StoreAdapter = {
    name: "toy",
    schemes: ["toy:"],
    forms: { "toy:<name>": "a toy" },
    driver: "toy",
    isShared: false,
    parse: (url) => {
      const name = url.slice("toy:".length)
      return /^[a-z]+$/.test(name) ? { value: this.#choice(name) } : { problem: "must name a toy in letters" }
    },
    shown: () => "toy:…",
  }

  readonly bus: BusAdapter = {
    name: "tin",
    schemes: ["tin:"],
    forms: { "tin:": "two tins and a string" },
    driver: "string",
    isShared: true,
    parse: () => ({
      value: {
        adapter: this.bus,
        shown: "tin:",
        obeys: new Set(["replicas"]),
        open: (_, { routing }) => LocalBus.layer(routing),
      },
    }),
    shown: (url) => url,
  }

  #choice(name: string): StoreChoice {
    const layer = () => {
      this.events.push(`open ${name}`)
      return MemoryStore.over(this.database(name))
    }
    return {
      adapter: this.store,
      shown: `toy:${name}`,
      place: `the toy ${name}`,
      open: layer,
      offline: { can: layer },
      archive: { can: () => Effect.sync(() => MemoryStore.archive(this.database(name))) },
      documents: { instead: "a toy has no documents: read a book." },
      doctor: { can: () => Effect.succeed({ examine: () => Effect.succeed(report) }) },
      backup: { instead: "a toy is not backed up: buy another." },
      restore: { instead: "a toy is not restored: glue it." },
      migrate: { instead: "a toy has no schema: play on." },
      sealingKey: { instead: "a toy keeps no key." },
    }
  }
}

/** A toy that nodes share, and that has a clock. */
const sharedToy = (toys: ToyBox): StoreAdapter => {
  const shared: StoreAdapter = {
    ...toys.store,
    isShared: true,
    parse: (url) => {
      const parsed = toys.store.parse(url)
      if ("problem" in parsed) return parsed
      const { value: choice } = parsed
      const open: StoreChoice["open"] = (opening) =>
        Layer.merge(choice.open(opening), Layer.succeed(StoreClock, { offsetMs: () => Effect.succeed(42) }))
      return { value: { ...choice, adapter: shared, open } }
    },
  }
  return shared
}

const report: StoreReport = {
  store: "toy",
  schemaVersion: 1,
  programVersion: 1,
  shards: [],
  sizes: [],
  overdue: { count: 0, worst: [] },
  deadByNamespace: [],
  integrity: "full",
  faults: [],
  targets: [],
  unreadable: [],
}

/** The program as app/src/main.ts composes it, with the toys in its lists. */
const programWith = (toys: ToyBox, environment: Environment = {}) => {
  const adapters = { stores: [...allStores, toys.store], buses: [...allBuses, toys.bus] }
  const parts: ServiceParts = {
    environment: { TIMER_HTTP_PORT: "0", TIMER_SHARDS: "4", ...environment },
    adapters,
    workerUrl: new URL("file:///no/worker.ts"),
    installDriver: toys.installDriver,
    onFatal: (message) => {
      throw new Error(message)
    },
    writeError: () => {},
  }
  const { archive, importTarget, ...keeping } = storeKeeping({ ...parts, stores: adapters.stores })
  const command = (args: ReadonlyArray<string>, stdin = "") =>
    run(args, {
      parts: {
        adapters,
        openArchive: archive,
        openImportTarget: importTarget,
        keeping,
        archiveLines: () => ({ isTerminal: false, chunks: bytesOf(stdin) }),
      },
    })
  return { parts, command }
}

async function* bytesOf(text: string) {
  yield new TextEncoder().encode(text)
}

const configurationOf = ({ environment, adapters }: ServiceParts) => {
  const read = readConfiguration(environment, adapters)
  if ("problems" in read) throw new Error(read.problems.join(" "))
  return read
}

/** Runs the service while the body runs. */
const serving = (parts: ServiceParts, body: (url: string) => Promise<void>) =>
  Effect.gen(function* () {
    const { configuration } = configurationOf(parts)
    const url = yield* Deferred.make<string>()
    const isOver = yield* Deferred.make<void>()
    const service = yield* Effect.forkScoped(
      serviceOf(configuration, parts, {
        untilAsked: Deferred.await(isOver),
        onListening: ({ listening }) => Effect.asVoid(Deferred.succeed(url, listening.url)),
      }),
    )
    // If the service cannot start, the wait ends with the reason.
    const started = yield* Effect.raceFirst(
      Deferred.await(url),
      Effect.andThen(Fiber.join(service), Effect.die("it ended by itself")),
    )
    yield* Effect.promise(() => body(started))
    yield* Deferred.succeed(isOver, undefined)
    yield* Fiber.join(service)
  }).pipe(Effect.scoped, Effect.provide(layerLogs("none", false)), Effect.runPromise)

const post = async (url: string, call: string, fields: object) => {
  const headers = { "content-type": "application/json" }
  const body = JSON.stringify(fields)
  const response = await fetch(`${url}/api/v1/${call}`, { method: "POST", headers, body })
  return { status: response.status, answer: (await response.json()) as Record<string, unknown> }
}

const create = (url: string, timer: object) => post(url, "timers/create", { namespace: "toys", ...timer })

describe("a store that only its adapter knows", () => {
  test("is chosen by its scheme, shows itself, and is listed in the help and in refusals", async () => {
    const { parts, command } = programWith(new ToyBox(), { TIMER_STORE_URL: "toy:train" })
    const { configuration, effective } = configurationOf(parts)
    expect(configuration.store.place).toBe("the toy train")
    expect(effective["TIMER_STORE_URL"]).toBe("toy:…")
    const problemsOf = (TIMER_STORE_URL: string) =>
      readConfiguration({ ...parts.environment, TIMER_STORE_URL }, parts.adapters)
    expect(problemsOf("toy:7")).toEqual({
      problems: ['TIMER_STORE_URL must name a toy in letters; it is "toy:…".'],
    })
    expect(problemsOf("oracle://ann:hunter2@h/db")).toEqual({
      problems: [
        expect.stringMatching(/must be sqlite:<file>, .* or toy:<name>; it is "oracle:\/\/…@h\/db"/),
      ],
    })
    expect((await command(["serve", "--help"])).out).toMatch(/toy:<name> +a toy\n/)
  })

  test("cannot be used in a cluster unless it says that nodes share it", () => {
    const secret = { TIMER_CLUSTER_SECRET: "0123456789abcdef" }
    const ofTrain = { TIMER_STORE_URL: "toy:train" }
    const { parts } = programWith(new ToyBox(), { ...ofTrain, ...secret })
    expect(readConfiguration(parts.environment, parts.adapters)).toEqual({
      problems: [expect.stringMatching(/this store is toy: set TIMER_STORE_URL to postgres:\/\//)],
    })
    const adapters = { ...parts.adapters, stores: [sharedToy(new ToyBox())] }
    expect(configurationOf({ ...parts, adapters }).configuration.cluster).toMatchObject({
      secret: "0123456789abcdef",
    })
  })

  test("has its clock compared with the node's clock, if nodes share it and it has a clock", async () => {
    const toys = new ToyBox()
    const { parts } = programWith(toys, {
      TIMER_STORE_URL: "toy:train",
      TIMER_CLUSTER_SECRET: "0123456789abcdef",
    })
    const adapters = { ...parts.adapters, stores: [sharedToy(toys)] }
    await serving({ ...parts, adapters }, async (url) => {
      await eventually("the clock is compared", async () => {
        const { answer } = await post(url, "cluster", {})
        return answer["clockOffsetMs"] === 42 ? true : undefined
      })
    })
  })

  test("fires timers in a service, which installs its driver before it opens the store", async () => {
    const toys = new ToyBox()
    const { parts } = programWith(toys, { TIMER_STORE_URL: "toy:train" })
    await using receiver = await Receiver.listening()
    await serving(parts, async (url) => {
      const { status } = await create(url, { timerId: "soon", delay: "0s", callbackUrl: receiver.url })
      expect(status).toBe(200)
      await receiver.until("the timer fired", ({ length }) => length === 1)
    })
    expect(toys.events).toEqual(["install toy", "open train"])
    expect(toys.database("train").contents()).toMatchObject([{ life: { timerId: "soon" } }])
  })

  test("can be exported, and imported into another", async () => {
    const toys = new ToyBox()
    const { parts, command } = programWith(toys, { TIMER_STORE_URL: "toy:train" })
    await serving(parts, async (url) => {
      await create(url, { timerId: "later", delay: "1h", callbackUrl: "http://127.0.0.1:9/" })
    })
    toys.events.length = 0
    const { exitCode, out } = await command(["export", "--store", "toy:train"])
    expect(exitCode).toBe(0)
    expect(out).toContain('"later"')
    const imported = await command(["import", "--store", "toy:ship", "--json"], out)
    expect(imported).toMatchObject({ exitCode: 0 })
    expect(toys.database("ship").contents()).toEqual(toys.database("train").contents())
    expect(toys.events).toEqual(["install toy", "install toy", "open ship"])
  })

  test("can be examined, and the report has its own name", async () => {
    const { command } = programWith(new ToyBox())
    const { exitCode, out } = await command(["doctor", "--store", "toy:train", "--json"])
    expect(exitCode).toBe(0)
    expect(JSON.parse(out).store).toEqual({ kind: "toy", place: "toy:train" })
  })

  test("says what to use instead of a command that it does not support", async () => {
    const { command } = programWith(new ToyBox())
    const sentences = {
      backup: [["/tmp/none.db"], "a toy is not backed up: buy another."],
      restore: [["/tmp/none.db"], "a toy is not restored: glue it."],
      migrate: [[], "a toy has no schema: play on."],
    } as const
    for (const [name, [args, sentence]] of Object.entries(sentences)) {
      expect(await command([name, "--store", "toy:train", ...args])).toEqual({
        exitCode: 1,
        out: "",
        err: `punctual ${name}: ${sentence}\n`,
      })
    }
  })

  test("does not change the answer for memory:, which no command can reach", async () => {
    const { command } = programWith(new ToyBox(), { TIMER_STORE_URL: "memory:" })
    const commands = [["doctor"], ["export"], ["import"], ["migrate"], ["backup", "x"], ["restore", "x"]]
    const { out: archive } = await command(["export", "--store", "toy:empty"])
    for (const args of commands) {
      const { exitCode, err } = await command(args, archive)
      expect([exitCode, err]).toEqual([1, expect.stringContaining("where no command can reach it")])
    }
  })

  test("can be opened inside a program, too", () => {
    const stores = [...allStores, new ToyBox().store]
    expect(readOptions({ store: "toy:train" }, stores).store.place).toBe("the toy train")
    expect(() => readOptions({ store: "postgres://h/db", clock: "manual" }, stores)).toThrow(
      /use sqlite:<file>, .*or toy:<name> as store/,
    )
  })
})

describe("a bus that only its adapter knows", () => {
  const toOthers = { delay: "1h", target: { type: "event" } }

  test("takes events like every bus, and its driver is installed before it opens", async () => {
    const toys = new ToyBox()
    const { parts } = programWith(toys, { TIMER_STORE_URL: "toy:train", TIMER_BROKER_URL: "tin:" })
    await serving(parts, async (url) => {
      expect((await create(url, toOthers)).status).toBe(200)
    })
    expect(toys.events).toEqual(["install toy", "install string", "open train"])
  })

  test("uses the settings that it declares, and no others", () => {
    const { parts } = programWith(new ToyBox(), { TIMER_BROKER_URL: "tin:" })
    const read = (more: Environment) => readConfiguration({ ...parts.environment, ...more }, parts.adapters)
    expect(read({ TIMER_BROKER_REPLICAS: "3" })).toHaveProperty("configuration.brokerTerms.replicas", 3)
    expect(read({ TIMER_BROKER_SYNC: "always" })).toEqual({
      problems: [expect.stringMatching(/^TIMER_BROKER_SYNC is always, but TIMER_BROKER_URL is tin:/)],
    })
  })
})

describe("only a list knows an adapter", () => {
  const root = fileURLToPath(new URL("../src/", import.meta.url))
  const names = [...allStores, ...allBuses].map(({ name }) => name)
  const folder = new RegExp(`(stores|buses)/(${names.join("|")})/`)
  const sources = readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !folder.test(path))
    .map((path) => ({ path, text: readFileSync(`${root}${path}`, "utf8") }))

  test("no other file imports from an adapter's folder", () => {
    const imports = new RegExp(`(?:from |import\\()"[^"]*/(${names.join("|")})/`)
    const importing = sources.filter(({ text }) => imports.test(text)).map(({ path }) => path)
    expect(importing.sort()).toEqual(["buses/all.ts", "stores/all.ts"])
  })

  test("no other file asks for an adapter's name", () => {
    const asks = new RegExp(`(?:===|!==|case|kind:) "(?:${names.join("|")})"`)
    expect(sources.filter(({ text }) => asks.test(text)).map(({ path }) => path)).toEqual([])
  })
})
