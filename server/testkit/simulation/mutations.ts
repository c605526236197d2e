// Faults that the simulation must find. Each mutation removes one safeguard from the service. The mutations are applied
// to a copy of the sources, one at a time. A test checks that each one still fits the sources.

export interface Mutation {
  /** The safeguard that the mutation removes. */
  readonly name: string
  /** The path below server/src. */
  readonly file: string
  /** Occurs exactly once in the file. */
  readonly search: string
  readonly replacement: string
}

export const mutations: ReadonlyArray<Mutation> = [
  {
    name: "the fence on outcomes",
    file: "stores/memory/MemoryDatabase.ts",
    search: "if (state?.epoch !== epoch) return",
    replacement:
      "if (state === undefined || (state.epoch !== epoch && changes.some(({ pending }) => pending))) return",
  },
  {
    name: "the fence on puts",
    file: "stores/memory/MemoryDatabase.ts",
    search: "if (state?.epoch !== epoch) return",
    replacement:
      "if (state === undefined || (state.epoch !== epoch && changes.some(({ finished }) => finished))) return",
  },
  {
    name: "an insert checks the history of its key",
    file: "stores/memory/MemoryDatabase.ts",
    search: "expects: { pending: null, last: null },",
    replacement: "expects: { pending: null },",
  },
  {
    name: "what a change expects of the pending row",
    file: "stores/memory/MemoryDatabase.ts",
    search: "if (pending && !isInState(there, pending)) return false",
    replacement: "",
  },
  {
    name: "what a create expects of the last life",
    file: "stores/memory/MemoryDatabase.ts",
    search: "if (last !== undefined && (this.#lastOf(uuid)?.life.fireId ?? null) !== last) return false",
    replacement: "",
  },
  {
    name: "a death is stored after its _dead timer",
    file: "engine/dispatch/Settler.ts",
    search: 'if (then.to !== "dead" || !notices.concerns(timer)) {',
    replacement: 'if (notices.concerns(timer) || then.to !== "dead") {',
  },
  {
    name: "a _dead timer is sent only if its timer is dead",
    file: "engine/dispatch/attemptOf.ts",
    search: "confirmed(timer, deliverer.deliver(fire, onSent), () => home.mayStart())",
    replacement: "deliverer.deliver(fire, onSent)",
  },
  {
    name: "the counter in the claim",
    file: "stores/memory/MemoryStore.ts",
    search: "state?.epoch !== expected.epoch || state.counter !== expected.counter",
    replacement: "state?.epoch !== expected.epoch",
  },
  {
    name: "the lease check before an attempt",
    file: "engine/dispatch/Dispatcher.ts",
    search: " || !home.mayStart()",
    replacement: "",
  },
  {
    name: "the clock check before an attempt",
    file: "engine/dispatch/Dispatcher.ts",
    search: "nowMs < entry.fireAt || ",
    replacement: "",
  },
  {
    name: "the end of trust in a lease",
    file: "engine/window/ShardLoop.ts",
    search: "this.#parts.clock.monotonicTimeNanosUnsafe() < this.#trustedUntilNanos",
    replacement: "this.#trustedUntilNanos > 0n",
  },
  {
    name: "offers wait until a read ends",
    file: "engine/window/Window.ts",
    search: "horizon.waiting?.set(timer.uuid, timer)",
    replacement: "horizon.waiting?.delete(timer.uuid)",
  },
  {
    name: "a read drops keys that were written since it began",
    file: "engine/window/Window.ts",
    search: "if (load.dirty.has(row.uuid) || this.#entries.has(row.uuid)) return",
    replacement: "if (this.#entries.has(row.uuid)) return",
  },
  {
    name: "keys held while a cancel is queued",
    file: "engine/writing/QueuedWrites.ts",
    search: "return this.#keys.get(uuid)?.holder !== undefined",
    replacement: "return this.#keys.get(uuid)?.others?.length === 1_000",
  },
  {
    name: "the fireId in an outcome",
    file: "domain/decide.ts",
    search: "pending.fireId !== outcome.timer.fireId ||",
    replacement: "",
  },
  {
    name: "due timers come before later ones in the window",
    file: "engine/window/Allotment.ts",
    search: "isOverdue ? this.#tenants.dueOf(namespace) : this.#tenants.entriesOf(namespace)",
    replacement: "this.#tenants.entriesOf(namespace)",
  },
  {
    name: "an owner notices inserts by other nodes",
    file: "engine/window/ShardLoop.ts",
    search: "if (foreign === this.#foreign) return",
    replacement: "if (foreign >= 0) return",
  },
  {
    name: "the sweep",
    file: "engine/window/ShardLoop.ts",
    search: "for (const head of window.missing(heads, read)) {",
    replacement: "for (const head of window.missing(heads, read).slice(0, 0)) {",
  },
  {
    name: "the pause before an attempt",
    file: "engine/dispatch/DispatchTerms.ts",
    search: "if (isPaused || directory.service().pause !== undefined) return 0",
    replacement: "if (isPaused && directory.service().pause !== undefined) return 0",
  },
  {
    name: "paused timers start again after a resume",
    file: "engine/dispatch/Dispatcher.ts",
    search: "for (const namespace of this.#resting) this.#turns.add(namespace)",
    replacement: "",
  },
  {
    name: "settings read before anything fires",
    file: "engine/namespaces/NamespaceDirectory.ts",
    search: "  yield* refresh.pipe(",
    replacement: "  yield* Effect.void.pipe(",
  },
]
