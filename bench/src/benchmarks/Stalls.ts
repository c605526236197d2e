// How long one request holds the engine's thread. Each body is sent alone, several times, to one node on SQLite, and to one
// of three nodes on PostgreSQL: there two thirds of valid timers go to the other nodes over the nodes' own port. Only the
// time on the processor counts, because all processes share the cores of one machine.
import { fileURLToPath } from "node:url"
import { ClusterHarness } from "@punctual/server/testkit/ClusterHarness"
import { fromSource, type Program, ServiceProcess } from "@punctual/server/testkit/ServiceProcess"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { atMost, type Benchmark, figure, leftOut, type Report, type Row } from "../Benchmark.ts"
import { type BodyKind, bodyKinds, bodyTitle, hostileBody } from "../isolation/bodies.ts"
import { whyLeftOut } from "../Servers.ts"
import { heldMark } from "../stalls/watchProcessor.ts"

const targetMs = 20
/** What the thread still does after the answer belongs to the request, too. */
const afterAnswerMs = 1_000
const settledAfterMs = 3_000

export const Stalls: Benchmark = {
  id: "Stalls",
  title: "the longest time that one request holds the engine's thread, on the processor",
  note: "Each row is one kind of body, sent alone. The first call to a new service is shown apart, because then the runtime has not compiled the code.",
  hasPeers: false,
  run: async ({ rounds, isQuick }, progress) => {
    const bytes = isQuick ? 1_000_000 : 14_500_000
    const found: Array<Found> = []
    for (const system of systems) {
      const why = system.needs.length === 0 ? undefined : whyLeftOut(system.needs)
      if (why !== undefined) found.push({ name: system.name, why, rows: [], longestMs: 0 })
      else found.push(await measured(system, bytes, rounds, progress))
    }
    return reportOf(found)
  },
}

interface System {
  readonly name: string
  readonly needs: ReadonlyArray<"postgres">
  /** The nodes, the one that is called first, and what ends them. */
  readonly start: (stack: AsyncDisposableStack) => Promise<ReadonlyArray<ServiceProcess>>
}

const program: Program = {
  command: fromSource.command,
  args: [
    "--preload",
    fileURLToPath(new URL("../stalls/watchProcessor.ts", import.meta.url)),
    ...fromSource.args,
  ],
}
const settings = { TIMER_LOG: "error", TIMER_EGRESS: "open" }

const systems: ReadonlyArray<System> = [
  {
    name: "SQLite",
    needs: [],
    start: async (stack) => {
      const folder = stack.use(new TemporaryFolder()).path
      return [stack.use(await ServiceProcess.ready({ folder, settings, program }))]
    },
  },
  {
    name: "three nodes on PostgreSQL",
    needs: ["postgres"],
    start: async (stack) => {
      const cluster = stack.use(await ClusterHarness.start({ settings, program }))
      return cluster.nodes.map(({ process }) => process)
    },
  },
]

interface Found {
  readonly name: string
  readonly why?: string
  readonly rows: ReadonlyArray<Row>
  readonly longestMs: number
}

const measured = async (
  system: System,
  bytes: number,
  calls: number,
  progress: (message: string) => void,
): Promise<Found> => {
  await using stack = new AsyncDisposableStack()
  const nodes = await system.start(stack)
  await Bun.sleep(settledAfterMs)
  const rows: Array<Row> = []
  let longestMs = 0
  for (const kind of bodyKinds) {
    const rounds: Array<Held> = []
    for (let call = 0; call < calls; call++) rounds.push(await heldBy(nodes, kind, bytes))
    const worked = rounds.map((held) => Math.max(...held.onProcessorMs))
    longestMs = Math.max(longestMs, ...worked)
    const row = rowOf(system.name, kind, rounds)
    rows.push(row)
    progress(`${row.name}: ${row.values}`)
  }
  return { name: system.name, rows, longestMs }
}

interface Held {
  readonly status: number
  /** For each node. */
  readonly onProcessorMs: ReadonlyArray<number>
  readonly byTheClockMs: ReadonlyArray<number>
}

const heldBy = async (nodes: ReadonlyArray<ServiceProcess>, kind: BodyKind, bytes: number): Promise<Held> => {
  const sinceMs = Date.now()
  const response = await fetch(`${nodes[0]?.url}/api/v1/timers/createMany`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: hostileBody(kind, bytes),
  })
  await response.text()
  await Bun.sleep(afterAnswerMs)
  const held = nodes.map(({ logs }) => longestHeld(logs, sinceMs))
  return {
    status: response.status,
    onProcessorMs: held.map(({ onProcessorMs }) => onProcessorMs),
    byTheClockMs: held.map(({ byTheClockMs }) => byTheClockMs),
  }
}

/** Zero if no check was late. */
const longestHeld = (logs: ReadonlyArray<string>, sinceMs: number) => {
  let [onProcessorMs, byTheClockMs] = [0, 0]
  for (const line of logs) {
    if (!line.startsWith(heldMark)) continue
    const [at = 0, heldMs = 0, workedMs = 0]: ReadonlyArray<number> = JSON.parse(line.slice(heldMark.length))
    if (at < sinceMs) continue
    onProcessorMs = Math.max(onProcessorMs, workedMs)
    byTheClockMs = Math.max(byTheClockMs, heldMs)
  }
  return { onProcessorMs, byTheClockMs }
}

const rowOf = (system: string, kind: BodyKind, rounds: ReadonlyArray<Held>): Row => {
  const [first, ...later] = rounds
  const text = (held: ReadonlyArray<Held>) => {
    const nodes = held[0]?.onProcessorMs.keys() ?? []
    return [...nodes]
      .map((node) => Math.max(...held.map(({ onProcessorMs }) => onProcessorMs[node] ?? 0)).toFixed(1))
      .join(", ")
  }
  const clock = Math.max(...rounds.flatMap(({ byTheClockMs }) => byTheClockMs))
  const values = [
    `first call ${text(first === undefined ? [] : [first])} ms`,
    ...(later.length === 0 ? [] : [`later ${text(later)} ms`]),
    `by the clock, also while others had the processor, ${clock.toFixed(1)} ms`,
    `answered ${[...new Set(rounds.map(({ status }) => status))].join(", ")}`,
  ]
  return {
    name: `${system}: ${bodyTitle[kind]}`,
    values: values.join("; "),
    figures: [
      figure(
        "held on the processor",
        "ms",
        rounds.map(({ onProcessorMs }) => Math.max(...onProcessorMs)),
      ),
    ],
  }
}

const reportOf = (found: ReadonlyArray<Found>): Report => ({
  rows: found.flatMap(({ name, why, rows }) => (why === undefined ? rows : [{ name, values: leftOut(why) }])),
  verdicts: found
    .filter(({ why }) => why === undefined)
    .map(({ name, longestMs }) => atMost(`${name}: held by one request`, longestMs, targetMs, "ms")),
})
