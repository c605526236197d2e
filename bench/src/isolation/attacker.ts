// The process of an attacker. The bench says what to do (AttackTerms.ts), and when.
import { obeyBench } from "../obeyBench.ts"
import type { Tally } from "../Tally.ts"
import type { AttackTerms } from "./AttackTerms.ts"
import { sendBodies } from "./attackBodies.ts"
import {
  sendAndNeverRead,
  sendHeldBodies,
  sendLists,
  sendPipelined,
  sendSlowHeaders,
  sendUnfinishedBodies,
} from "./attackConnections.ts"
import {
  createBacklog,
  createCrowd,
  createHanging,
  createLarge,
  createRearming,
  createSlowNames,
} from "./attackTimers.ts"
import { hostileBody } from "./bodies.ts"
import { compute } from "./compute.ts"
import { HangingEndpoints } from "./HangingEndpoints.ts"
import { rearmingEndpoint } from "./rearmingEndpoint.ts"

/** Prepares the attack. Returns how to begin it. */
const prepared = async (terms: AttackTerms, tally: Tally): Promise<() => void> => {
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
      return () => createHanging(url, endpoints, terms, tally)
    }
    case "backlog":
      await createBacklog(url, new HangingEndpoints(tally), terms.timers, tally)
      return () => {}
    case "crowd":
      return () => void createCrowd(url, terms.namespaces, Date.now() + terms.dueInMs, tally)
    case "unfinishedBodies":
      return () => sendUnfinishedBodies({ url, connections: terms.connections, tally })
    case "heldBodies":
      return () => sendHeldBodies({ url, connections: terms.connections, tally }, terms.bytes)
    case "largePages": {
      await createLarge(url, terms.timers, tally)
      return () => sendLists({ url, connections: terms.connections, tally })
    }
    case "slowHeaders":
      return () => sendSlowHeaders({ url, connections: terms.connections, tally })
    case "pipelining":
      return () => sendPipelined({ url, connections: terms.connections, tally }, terms.requests)
    case "rearms":
      return () => createRearming(url, rearmingEndpoint(terms.payloadBytes, tally), terms, tally)
    case "compute":
      return () => compute(tally)
    case "neverReading":
      return () => sendAndNeverRead({ url, connections: terms.connections, tally }, terms.requests)
  }
}

await obeyBench<AttackTerms>(async (terms, tally) => ({ begin: await prepared(terms, tally) }))
