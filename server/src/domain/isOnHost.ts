// Whether a target is on a host. A host without a port means every port of that name.
import type { Target } from "./Timer.ts"

/** `host` has the form of the contract's `canonicalHost`: `example.com`, `example.com:8443`, `[::1]:80`. */
export const isOnHost = (target: Target, host: string): boolean => {
  if (target.type !== "webhook" || !URL.canParse(target.url)) return false
  const { hostname, port, protocol } = new URL(target.url)
  if (!host.startsWith(hostname)) return false
  return host === hostname || host === `${hostname}:${port === "" ? defaultPort(protocol) : port}`
}

const defaultPort = (protocol: string): number => (protocol === "https:" ? 443 : 80)
