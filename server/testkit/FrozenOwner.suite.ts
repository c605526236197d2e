// A real process that owns a shard is frozen at every step of a write: before each message that it sends to the database.
// Another owner takes the shard over and uses the same key. Then the frozen process wakes up and goes on. It must change
// nothing, and it must not believe that it wrote something that the next owner did not find.
import { expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { parseUrl } from "../src/ports/Adapter.ts"
import { ShardLeases } from "../src/ports/ShardLeases.ts"
import { TimerStore } from "../src/ports/TimerStore.ts"
import { allStores } from "../src/stores/all.ts"
import type { ClusterStore, ClusterStoreKind } from "./ClusterStore.ts"
import { describeNeeding } from "./describeUnless.ts"
import { eventually } from "./eventually.ts"
import { contendedPuts, nextOwnersPut, shardOfRounds } from "./frozenRounds.ts"
import { TcpProxy } from "./TcpProxy.ts"
import { cancelOf } from "./timers.ts"

const writerFile = fileURLToPath(new URL("./frozenWriter.ts", import.meta.url))

/** No store needs as many messages for a write. */
const mostSteps = 20
const endsWithinMs = 120_000

export const frozenOwnerSuite = (kind: ClusterStoreKind): void => {
  describeNeeding(kind.missing, `a frozen owner on ${kind.title}`, () => {
    test("that wakes up after a takeover changes nothing, at whatever step it was frozen", async () => {
      await using server = await kind.start()
      await using next = await NextOwner.on(server)
      await using network = await TcpProxy.before(server)
      using writer = new FrozenWriter(server, network)
      const told: Array<string> = []
      let step = 1
      for (; step <= mostSteps; step++) {
        const isFrozen = await writer.freezeAt(step)
        // The write needs fewer messages than this.
        if (!isFrozen) break
        const takenAfterMs = await next.takeOver()
        const found = await next.finds(step)
        await next.uses(step)
        const before = sorted(await server.contents())
        const answer = await writer.wakes()
        told.push(`${answer} (taken over within ${takenAfterMs} ms)`)
        if (answer === "written") expect([step, found]).toEqual([step, true])
        if (answer === "ownershipLost") expect([step, found]).toEqual([step, false])
        expect([step, sorted(await server.contents())]).toEqual([step, before])
      }
      process.stderr.write(`${kind.title}: frozen before each message of a write: ${told.join(", ")}\n`)
      expect(told.length).toBeGreaterThan(0)
      expect(step).toBeLessThanOrEqual(mostSteps)
      expect(told[0]).not.toStartWith("written")
    }, 420_000)
  })
}

/** The rows of a store have no order. */
const sorted = ({ pending, finished, tally }: Awaited<ReturnType<ClusterStore["contents"]>>) => ({
  pending: pending.map(({ fireId }) => fireId).sort(),
  finished: finished.map(({ fireId, state }) => `${fireId} ${state}`).sort(),
  tally,
})

class FrozenWriter implements Disposable {
  readonly #child
  readonly #said: Array<string> = []
  readonly #network: TcpProxy
  #read = 0

  constructor(server: ClusterStore, network: TcpProxy) {
    this.#network = network
    this.#child = spawn(
      process.execPath,
      [writerFile, server.urlThrough(network.address), String(server.shards)],
      { stdio: ["pipe", "pipe", "inherit"] },
    )
    this.#child.stdout.on("data", (chunk: Buffer) => this.#said.push(...chunk.toString().trim().split("\n")))
  }

  /** Lets the process write, and freezes it before this message. False if the write ended before. */
  async freezeAt(step: number): Promise<boolean> {
    this.#child.stdin.write(`${step}\n`)
    await this.#nextWord("the frozen owner is ready")
    let isFrozen = false
    this.#network.holdFrom(step, () => {
      this.#child.kill("SIGSTOP")
      isFrozen = true
    })
    this.#child.stdin.write("go\n")
    await eventually(
      "the owner is frozen, or has written",
      () => isFrozen || this.#said.length > this.#read || undefined,
      endsWithinMs,
    )
    if (!isFrozen) this.#network.letGo()
    return isFrozen
  }

  /** What the process was told about its write. */
  async wakes(): Promise<string> {
    this.#network.letGo()
    this.#child.kill("SIGCONT")
    return this.#nextWord("the frozen owner was answered")
  }

  #nextWord(what: string): Promise<string> {
    return eventually(
      what,
      () => {
        if (this.#child.exitCode !== null) throw new Error(`${what}: the process has ended`)
        const word = this.#said[this.#read]
        if (word !== undefined) this.#read++
        return word
      },
      endsWithinMs,
    )
  }

  [Symbol.dispose](): void {
    this.#child.kill("SIGKILL")
  }
}

class NextOwner implements AsyncDisposable {
  readonly #shards: number
  readonly #services: Context.Context<TimerStore | ShardLeases>
  readonly #scope: Scope.Closeable
  #epoch = 0

  private constructor(
    shards: number,
    services: Context.Context<TimerStore | ShardLeases>,
    scope: Scope.Closeable,
  ) {
    this.#shards = shards
    this.#services = services
    this.#scope = scope
  }

  static async on(server: ClusterStore): Promise<NextOwner> {
    const parsed = parseUrl(allStores, server.urlThrough(`${server.host}:${server.port}`))
    if (!("value" in parsed)) throw new Error(`the URL of the store ${parsed.problem}`)
    const workerUrl = new URL("../src/stores/sqlite/worker.ts", import.meta.url)
    const scope = Effect.runSync(Scope.make())
    const layer = parsed.value.open({ shards: server.shards, workerUrl, connections: "few" })
    return new NextOwner(server.shards, await Effect.runPromise(Layer.buildWithScope(layer, scope)), scope)
  }

  get #store(): TimerStore["Service"] {
    return Context.get(this.#services, TimerStore)
  }

  /** A claim may have to wait until the database ends the transaction of the frozen process. Returns how long it took. */
  async takeOver(): Promise<number> {
    const startedAt = performance.now()
    const leases = Context.get(this.#services, ShardLeases)
    const claim = Effect.gen(function* () {
      const held = (yield* leases.owners)[shardOfRounds]
      return held && (yield* leases.claim(held, "next"))
    })
    const { shard, epoch } = await eventually(
      "the shard is taken over",
      () => Effect.runPromise(Effect.catch(claim, () => Effect.succeed(undefined))),
      endsWithinMs,
    )
    await Effect.runPromise(this.#store.open(shard, epoch))
    this.#epoch = epoch
    return Math.round(performance.now() - startedAt)
  }

  /** Whether the write of the frozen process was carried out. */
  async finds(round: number): Promise<boolean> {
    const { unused } = contendedPuts(round, this.#shards)
    const { pending, last } = await Effect.runPromise(this.#store.find(unused.timer))
    return pending !== undefined || last !== undefined
  }

  /** Creates the timer of the key, and ends it. A late create would bring it back. */
  async uses(round: number): Promise<void> {
    const put = nextOwnersPut(round, this.#shards)
    for (const item of [put, cancelOf(put.timer)]) {
      const batch = { shard: shardOfRounds, epoch: this.#epoch, items: [item] }
      const [answered] = await Effect.runPromise(this.#store.write([batch]))
      expect(answered?.result).toBe("written")
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Effect.runPromise(Scope.close(this.#scope, Exit.void))
  }
}
