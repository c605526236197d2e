// The work that both sides of a comparison get: the same payload, random ids, and the same spread of due times.
import { randomUUID } from "node:crypto"
import type { Spec } from "@punctual/server/domain/Timer"
import type { CreateCommand } from "@punctual/server/engine/front/Scheduler"
import { handlerSpec, namespace } from "./EngineOnDisk.ts"
import { samplePayload } from "./samplePayload.ts"

export { farAhead } from "./peers/works.ts"

export const payload = Buffer.from(JSON.stringify(samplePayload))

export const command = (
  executeAt: number,
  spec: Spec = handlerSpec,
  timerId: string = randomUUID(),
): CreateCommand => ({ namespace, timerId, executeAt, spec, payload, onExisting: "replace" })
