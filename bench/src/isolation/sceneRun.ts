// One scene of the benchmark Isolation: the good namespace without the attack, then with it, on a new service.
import { latenessText } from "../Benchmark.ts"
import type { LowPriorityProcess } from "../LowPriorityProcess.ts"
import { Receiver } from "../Receiver.ts"
import { Service, type StoreKind } from "../Service.ts"
import type { Counts } from "../Tally.ts"
import type { AttackTerms } from "./AttackTerms.ts"
import { GoodNamespace, type GoodResult, type GoodTerms } from "./GoodNamespace.ts"
import { longestStallMs } from "./longestStall.ts"
import { prepareAttack } from "./prepareAttack.ts"
import type { Scene } from "./Scene.ts"
import { SlowDns } from "./SlowDns.ts"

/** The good namespace and the service during one half of a scene. */
export interface Half extends GoodResult {
  readonly peakMiB: number
  /** Undefined if the service does not say. */
  readonly stallMs: number | undefined
}

interface HalfTerms {
  readonly attack?: LowPriorityProcess
  /** The names by which the endpoint is called. */
  readonly hosts?: ReadonlyArray<string>
  /** The name of the namespace. */
  readonly name?: string
}

export interface SceneRun {
  readonly without: Half
  readonly under: Half
  readonly attackersGot: Counts
}

/** The good namespace uses this many names for its endpoint if the service has to look them up. */
const goodNames = 10
/** How long an attack goes on before the measurement, if it begins before it. */
const begunForMs = 2_000
/** How long an attacker may live besides the measured time: to create a backlog, and for late timers. */
const attackerSpareSeconds = 180

export const sceneRun = async (
  scene: Scene,
  kind: StoreKind,
  good: GoodTerms,
  say: (text: string) => void,
): Promise<SceneRun> => {
  await using stack = new AsyncDisposableStack()
  const dns = scene.hasSlowDns === true ? stack.use(await SlowDns.start()) : undefined
  const service = stack.use(await Service.start(kind, { ...scene.settings, ...dns?.settings }))
  const receiver = stack.use(await Receiver.start())
  const names = dns === undefined ? [] : Array.from({ length: goodNames }, (_, index) => `good-${index}.test`)
  /** Ends the attack before it asks the service for its figures, so that the service can answer. */
  const half = async (
    terms: GoodTerms,
    { attack, hosts = names, name }: HalfTerms = {},
  ): Promise<readonly [Half, Counts]> => {
    await service.forgetPeak()
    const before = await service.metrics()
    const good = new GoodNamespace(service.url, receiver, hosts, name)
    const result = await good.run(terms, () => (scene.hasBegun === true ? undefined : attack?.go()))
    const attackersGot = (await attack?.stop()) ?? {}
    const peakMiB = await service.peakResidentMiB()
    return [{ ...result, peakMiB, stallMs: longestStallMs(before, await service.metrics()) }, attackersGot]
  }
  const [without] = await half(good)
  say(`without attack: ${latenessText(without.latenessMs)}`)
  const terms = { ...scene.attack, url: service.url } as AttackTerms
  const seconds = good.seconds + good.graceMs / 1_000 + attackerSpareSeconds
  const attack = stack.use(await prepareAttack(terms, { seconds }))
  if (scene.hasBegun === true) {
    attack.go()
    await Bun.sleep(begunForMs)
  }
  if (scene.isAfterRestart === true) await service.restart()
  const isNewcomer = scene.isNewcomer === true
  // After a restart, and in a new namespace, the first timers matter most, so none of them is left out.
  const underAttack = isNewcomer || scene.isAfterRestart === true ? { ...good, warmUpSeconds: 0 } : good
  const [under, attackersGot] = await half(underAttack, {
    attack,
    ...(isNewcomer ? { hosts: ["localhost"], name: "newcomer" } : {}),
  })
  const { missing, notAccepted, peakMiB } = under
  say(
    `under attack: ${latenessText(under.latenessMs)}; ${missing + notAccepted} missing, peak ${peakMiB.toFixed(0)} MiB`,
  )
  return { without, under, attackersGot }
}
