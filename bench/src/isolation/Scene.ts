// The attacks of the benchmark Isolation. Each is one scene.
import { readFileSync } from "node:fs"
import { count } from "../Benchmark.ts"
import type { AttackTerms } from "./AttackTerms.ts"
import { bodyKinds, bodyTitle } from "./bodies.ts"

type WithoutUrl<Terms> = Terms extends unknown ? Omit<Terms, "url"> : never

export interface Scene {
  readonly name: string
  readonly attack: WithoutUrl<AttackTerms>
  readonly settings?: Readonly<Record<string, string>>
  /** The service asks a DNS server with slow names, and the good namespace's endpoint has names instead of an address. */
  readonly hasSlowDns?: boolean
  /** The attack begins some seconds before the measurement, and before the restart if there is one. */
  readonly hasBegun?: boolean
  /** The good namespace and the host of its endpoint are new to the service. */
  readonly isNewcomer?: boolean
  /** The service is killed and started again before the measurement. */
  readonly isAfterRestart?: boolean
  /** The scene is no attack. It shows what the machine does to the others. */
  readonly hasNoTarget?: boolean
  /** The target for memory holds in this scene. */
  readonly hasMemoryTarget?: boolean
}

/** What the processes need besides the attack's connections. */
const filesOtherwise = 1_000

export const scenes = (isQuick: boolean): ReadonlyArray<Scene> => {
  const size = (full: number, quick: number) => (isQuick ? quick : full)
  const bytes = size(15_500_000, 500_000)
  const backlog: Scene["attack"] = { kind: "backlog", timers: size(200_000, 1_000) }
  const crowd = size(30_000, 300)
  const slowNames = { kind: "slowNames", names: size(100, 10) } as const
  const connections = Math.min(size(5_000, 100), openFilesMax() - filesOtherwise)
  return [
    ...bodyKinds.map(
      (body): Scene => ({
        name: `bodies of ${(bytes / 1_000_000).toFixed(1)} MB: ${bodyTitle[body]}`,
        attack: { kind: "bodies", body, bytes, clients: 8 },
        hasMemoryTarget: true,
      }),
    ),
    {
      name: `slow DNS: ${slowNames.names} names that answer after 30 s, egress open`,
      attack: slowNames,
      settings: { TIMER_EGRESS: "open" },
      hasSlowDns: true,
    },
    {
      name: `slow DNS: ${slowNames.names} names that answer after 30 s, egress limited to some addresses`,
      attack: slowNames,
      settings: { TIMER_EGRESS: "127.0.0.0/8" },
      hasSlowDns: true,
    },
    ...hangingScenes(size(400, 20)),
    {
      name: `crowd: ${count(crowd)} new namespaces with a timer each, due at one instant`,
      attack: { kind: "crowd", namespaces: crowd, dueInMs: size(5_000, 100) },
    },
    {
      name: `connections: ${count(connections)} with unfinished bodies`,
      attack: { kind: "unfinishedBodies", connections },
    },
    {
      name: "connections: 20 with 3.5 MB of an unfinished body each",
      attack: { kind: "heldBodies", connections: 20, bytes: 3_500_000 },
    },
    {
      name: "lists: 40 connections, pages of timers with many headers",
      attack: { kind: "largePages", connections: 40, timers: size(1_000, 200) },
      hasMemoryTarget: true,
    },
    {
      name: `connections: ${count(connections)} with slow headers`,
      attack: { kind: "slowHeaders", connections },
    },
    {
      name: "pipelining: 16 connections, 100 requests at a time",
      attack: { kind: "pipelining", connections: 16, requests: 100 },
    },
    {
      name: `pipelining: ${size(100, 10)} connections, 200 requests each, answers never read`,
      attack: { kind: "neverReading", connections: size(100, 10), requests: 200 },
    },
    {
      name: `re-arms: ${count(size(1_000, 50))} a second with payloads of 60 KB`,
      attack: { kind: "rearms", timers: size(1_000, 50), payloadBytes: 60_000 },
    },
    { name: `backlog: ${count(backlog.timers)} overdue for a hanging endpoint`, attack: backlog },
    {
      name: `backlog: ${count(backlog.timers)} overdue, directly after a restart`,
      attack: backlog,
      isAfterRestart: true,
    },
    {
      name: "control: the attackers only compute, on all cores, and never touch the service",
      attack: { kind: "compute" },
      hasNoTarget: true,
    },
  ]
}

const hangingScenes = (namespaces: number): ReadonlyArray<Scene> => {
  const name = `hanging endpoints: ${namespaces} namespaces with one each`
  const attack = { kind: "hangingEndpoints", namespaces, newPerSecond: 0, timeout: "300s" } as const
  // With the default time-out the hanging attempts are like those of honest hosts.
  const usual = { ...attack, timeout: "15s" }
  return [
    { name, attack },
    { name: `${name}, and 100 new ones each second`, attack: { ...attack, newPerSecond: 100 } },
    {
      name: `${name}, before the first timer of a new namespace with a new host`,
      attack: usual,
      hasBegun: true,
      isNewcomer: true,
    },
    { name: `${name}, directly after a restart`, attack: usual, hasBegun: true, isAfterRestart: true },
  ]
}

/** The number of files that a process of this machine may open. */
const openFilesMax = (): number => {
  const limits = readFileSync("/proc/self/limits", "utf8")
  return Number(/^Max open files\s+\d+\s+(\d+)/m.exec(limits)?.[1] ?? 1_024)
}
