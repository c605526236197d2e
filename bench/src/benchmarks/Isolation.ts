// Some clients attack the service, and the benchmark measures how late the timers of one namespace become. Each attack
// runs by itself, on a new service, directly after the same measurement without the attack.
import {
  atMost,
  type Benchmark,
  count,
  figure,
  leftOut,
  medianOf,
  percentile,
  type Row,
  type Verdict,
  whyNot,
} from "../Benchmark.ts"
import type { GoodTerms } from "../isolation/GoodNamespace.ts"
import { type Scene, scenes } from "../isolation/Scene.ts"
import { type Half, type SceneRun, sceneRun } from "../isolation/sceneRun.ts"
import { whyLeftOut } from "../Servers.ts"
import { type StoreKind, storeName } from "../Service.ts"
import { countsText } from "../Tally.ts"

const p99AtMostMs = 10
const memoryAtMostMiB = 400

const fullTerms: GoodTerms = {
  perSecond: 1_000,
  seconds: 10,
  warmUpSeconds: 1,
  aheadMs: 1_000,
  graceMs: 10_000,
}
const quickTerms: GoodTerms = {
  perSecond: 200,
  seconds: 0.5,
  warmUpSeconds: 0,
  aheadMs: 200,
  graceMs: 5_000,
}

const stores = ["sqlite", "postgres"] as const

export const Isolation: Benchmark = {
  id: "Isolation",
  title: "how late 1,000 timers a second of one namespace become while others attack the service",
  note: [
    "The good namespace gets 100 timers every 100 ms, each due one second later, for an endpoint that answers at",
    "once. If a create is refused, its client sends it again, and the delay counts as lateness. A timer is missing if",
    "it has not arrived 10 s after the last one was due, and counts as late until then. Each attack starts when the",
    "first counted timer is due, so its first seconds count too. Lateness without the attack is in parentheses: the",
    "same service, directly before. All processes share the cores of this machine. In production attackers use",
    "machines of their own, so the attackers run with the lowest priority (nice 19): they take the processor time",
    "that the service, the good namespace and its endpoint leave over. Attacks with connections come from other",
    "loopback addresses than the good namespace.",
  ].join("\n"),
  uses: ["postgres"],
  hasPeers: false,
  rowOrder: stores.flatMap((kind) => scenes(false).map(({ name }) => `${storeName[kind]}, ${name}`)),
  run: async ({ isQuick, rounds, scenes: wanted }, progress) => {
    const good = isQuick ? quickTerms : fullTerms
    const sides = sidesOf(isQuick, wanted)
    if (sides.length === 0) throw new Error(`no scene has ${wanted?.join(" or ")} in its name`)
    for (let round = 1; round <= rounds; round++) {
      for (const { name, scene, kind, runs, failures } of sides) {
        if (failures.length > 0) continue
        const say = (text: string) => progress(`round ${round}/${rounds}, ${name}, ${text}`)
        try {
          runs.push(await sceneRun(scene, kind, good, say))
        } catch (error) {
          failures.push(whyNot(error))
          say(whyNot(error))
        }
      }
    }
    return { rows: sides.flatMap(rowsOf), verdicts: sides.flatMap(verdictsOf) }
  },
}

/** One scene on one store. */
interface Side {
  readonly name: string
  readonly scene: Scene
  readonly kind: StoreKind
  readonly runs: Array<SceneRun>
  /** Why it was left out or stopped; at most one. */
  readonly failures: Array<string>
}

/** A quick run has only one scene on PostgreSQL, because the start of a server takes most of its time. */
const sidesOf = (isQuick: boolean, wanted: ReadonlyArray<string> | undefined): ReadonlyArray<Side> =>
  stores
    .flatMap((kind) => {
      const whyNoStore = whyLeftOut(kind === "postgres" ? ["postgres"] : [])
      const all = scenes(isQuick)
      return (isQuick && kind === "postgres" ? all.slice(-1) : all).map((scene): Side => {
        const failures = whyNoStore === undefined ? [] : [leftOut(whyNoStore)]
        return { name: `${storeName[kind]}, ${scene.name}`, scene, kind, runs: [], failures }
      })
    })
    .filter(({ name }) => wanted === undefined || wanted.some((text) => name.includes(text)))

const rowsOf = ({ name, runs, failures }: Side): ReadonlyArray<Row> => {
  const failed = failures.map((values): Row => ({ name, values }))
  if (runs.length === 0) return failed
  const p99 = (half: "without" | "under") => runs.map((run) => percentile(run[half].latenessMs, 0.99))
  const peaks = runs.map(({ under }) => under.peakMiB)
  return [
    {
      name,
      values: [
        latenessPair(runs),
        ...lossText(runs.map(({ under }) => under)),
        `creates p99 ${percentile(
          runs.flatMap(({ under }) => under.createMs),
          0.99,
        ).toFixed(0)} ms`,
        `peak ${medianOf(peaks).toFixed(0)} MiB (${medianOf(runs.map(({ without }) => without.peakMiB)).toFixed(0)})`,
        ...stallText(runs),
      ].join("; "),
      terms: `the attackers got ${countsText(runs.map(({ attackersGot }) => attackersGot))}`,
      figures: [
        figure("p99", "ms late", p99("under")),
        figure("p99 without attack", "ms late", p99("without")),
        figure("peak resident", "MiB", peaks),
      ],
    },
    ...failed,
  ]
}

const verdictsOf = ({ name, scene, runs }: Side): ReadonlyArray<Verdict> => {
  if (runs.length === 0 || scene.hasNoTarget === true) return []
  const p99 = medianOf(runs.map(({ under }) => percentile(under.latenessMs, 0.99)))
  const lost = runs.reduce((sum, { under }) => sum + under.missing + under.notAccepted, 0)
  return [
    atMost(`${name}: p99`, p99, p99AtMostMs, "ms"),
    ...(lost === 0
      ? []
      : [{ label: `${name}: missing timers`, value: count(lost), target: "0", isReached: false }]),
    ...(scene.hasMemoryTarget === true
      ? [
          atMost(
            `${name}: peak memory`,
            Math.max(...runs.map(({ under }) => under.peakMiB)),
            memoryAtMostMiB,
            "MiB",
          ),
        ]
      : []),
  ]
}

/** Lateness under attack, and without it in parentheses. */
const latenessPair = (runs: ReadonlyArray<SceneRun>): string => {
  const all = (half: "without" | "under") => runs.flatMap((run) => run[half].latenessMs)
  const [under, without] = [all("under"), all("without")]
  const at = (title: string, fraction: number) =>
    `${title} ${percentile(under, fraction).toFixed(1)} ms (${percentile(without, fraction).toFixed(1)})`
  return [at("p50", 0.5), at("p99", 0.99), at("highest", 1)].join(", ")
}

const lossText = (halves: ReadonlyArray<Half>): ReadonlyArray<string> => {
  const sum = (field: "missing" | "notAccepted" | "repeated" | "failedCreates") =>
    halves.reduce((total, half) => total + half[field], 0)
  const parts = [
    ["missing", sum("missing")],
    ["never accepted", sum("notAccepted")],
    ["repeated", sum("repeated")],
    ["creates sent again", sum("failedCreates")],
  ] as const
  return parts.flatMap(([title, number]) => (number > 0 || title === "missing" ? [`${title} ${number}`] : []))
}

const stallText = (runs: ReadonlyArray<SceneRun>): ReadonlyArray<string> => {
  const longest = (half: "without" | "under") => Math.max(0, ...runs.map((run) => run[half].stallMs ?? 0))
  const shown = (stallMs: number) =>
    Number.isFinite(stallMs) ? `${stallMs} ms` : "more than the metric shows"
  const stallMs = longest("under")
  return stallMs === 0 ? [] : [`longest stall up to ${shown(stallMs)} (${shown(longest("without"))})`]
}
