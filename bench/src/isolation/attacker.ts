// The process of an attacker. Its argument is what to do (AttackTerms.ts). It says `ready`, attacks when the bench says
// `go`, and prints what it got when the bench says `stop`. It ends by itself after a time limit, or when the bench ends,
// because then its input ends.
import type { AttackTerms } from "./AttackTerms.ts"
import { sendBodies } from "./attackBodies.ts"
import {
  sendAndNeverRead,
  sendPipelined,
  sendSlowHeaders,
  sendUnfinishedBodies,
} from "./attackConnections.ts"
import { createBacklog, createHanging, createSlowNames } from "./attackTimers.ts"
import { hostileBody } from "./bodies.ts"
import { HangingEndpoints } from "./HangingEndpoints.ts"
import { Tally } from "./Tally.ts"

const [json = "", seconds = ""] = process.argv.slice(2)
setTimeout(() => process.exit(3), Number(seconds) * 1_000)
process.stdin.on("end", () => process.exit(4))

const terms = JSON.parse(json) as AttackTerms
const tally = new Tally()

/** Prepares the attack. Returns how to begin it. */
const prepared = async (): Promise<() => void> => {
  const { url } = terms
  switch (terms.kind) {
    case "bodies": {
      const body = hostileBody(terms.body, terms.bytes)
      return () => sendBodies(url, body, terms.clients, tally)
    }
    case "slowNames":
      return () => createSlowNames(url, terms.names, tally)
    case "hangingEndpoints": {
      const endpoints = new HangingEndpoints(tally)
      return () => createHanging(url, endpoints, terms.namespaces, terms.newPerSecond, tally)
    }
    case "backlog":
      await createBacklog(url, new HangingEndpoints(tally), terms.timers, tally)
      return () => {}
    case "unfinishedBodies":
      return () => sendUnfinishedBodies({ url, connections: terms.connections, tally })
    case "slowHeaders":
      return () => sendSlowHeaders({ url, connections: terms.connections, tally })
    case "pipelining":
      return () => sendPipelined({ url, connections: terms.connections, tally }, terms.requests)
    case "neverReading":
      return () => sendAndNeverRead({ url, connections: terms.connections, tally }, terms.requests)
  }
}

const begin = await prepared()
process.stdin.on("data", (bytes: Buffer) => {
  for (const word of bytes.toString().trim().split("\n")) {
    if (word === "go") begin()
    if (word === "stop") process.stdout.write(`${JSON.stringify(tally.counts)}\n`, () => process.exit(0))
  }
})
process.stdout.write("ready\n")
