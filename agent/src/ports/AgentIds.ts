// Makes ids of messages, attempts and calls: UUID v7, so that they sort by time. Tests can replace it.
import { randomBytes } from "node:crypto"
import { Context } from "effect"

export const AgentIds = Context.Reference<{ uuidAt(nowMs: number): string }>("punctual/agent/AgentIds", {
  defaultValue: () => ({ uuidAt: uuidV7At }),
})

const uuidV7At = (nowMs: number): string => {
  const random = randomBytes(10)
  random[0] = 0x70 | ((random[0] ?? 0) & 0x0f)
  random[2] = 0x80 | ((random[2] ?? 0) & 0x3f)
  const time = Math.max(0, Math.floor(nowMs)).toString(16).padStart(12, "0").slice(-12)
  const hex = `${time}${random.toString("hex")}`
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-")
}
