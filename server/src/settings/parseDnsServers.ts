// TIMER_DNS_SERVERS: the name servers for the hosts of webhooks.
import { isIP } from "node:net"
import type { Parsed } from "../ports/Adapter.ts"

const serversMost = 8

/** The servers as the runtime wants them. Empty: the servers of the system. */
export const parseDnsServers = (text: string): Parsed<ReadonlyArray<string>> => {
  if (text === "") return { value: [] }
  const servers = text.split(",").map((server) => server.trim())
  return servers.length <= serversMost && servers.every(isServer)
    ? { value: servers }
    : {
        problem: `must be 1 to ${serversMost} addresses separated by commas, each with or without a port, such as 10.0.0.2 or [fd00::2]:5353`,
      }
}

const isServer = (text: string): boolean => {
  if (isIP(text) !== 0) return true
  const [, address = "", port = ""] = /^\[?([0-9a-fA-F:.]+?)\]?:(\d{1,5})$/.exec(text) ?? []
  const isAddress = text.startsWith("[") ? isIP(address) === 6 : isIP(address) === 4
  return isAddress && Number(port) >= 1 && Number(port) <= 65_535
}
