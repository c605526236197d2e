// A DNS server with slow names on loopback, and how the service is pointed to it. The resolver of the system asks only
// port 53 of the servers in /etc/resolv.conf. So the service runs in a mount namespace of its own, where that file
// names our server. Both need root.
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { fromSource } from "@punctual/server/testkit/ServiceProcess"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { ChildServer } from "../ChildServer.ts"
import type { ServiceOptions } from "../Service.ts"

const address = "127.66.0.53"
const port = 53
const slowMs = 30_000

export class SlowDns implements AsyncDisposable {
  readonly #stack: AsyncDisposableStack
  readonly #resolvConf: string

  private constructor(stack: AsyncDisposableStack, resolvConf: string) {
    this.#stack = stack
    this.#resolvConf = resolvConf
  }

  /** Undefined if this machine can do it. */
  static whyNot(): string | undefined {
    if (process.getuid?.() !== 0) return "only root can give the service another DNS server"
    const tried = spawnSync("unshare", ["--mount", "mount", "--bind", "/etc/resolv.conf", "/etc/resolv.conf"])
    return tried.status === 0 ? undefined : "this machine does not allow a mount namespace (unshare --mount)"
  }

  static async start(): Promise<SlowDns> {
    const stack = new AsyncDisposableStack()
    try {
      const script = new URL("./dnsServer.ts", import.meta.url)
      stack.use(await ChildServer.start(script, address, String(port), String(slowMs)))
      const resolvConf = join(stack.use(new TemporaryFolder()).path, "resolv.conf")
      await Bun.write(resolvConf, `nameserver ${address}\n`)
      return new SlowDns(stack, resolvConf)
    } catch (error) {
      await stack.disposeAsync()
      throw error
    }
  }

  /** How to start the service so that it asks this server. */
  get serviceOptions(): ServiceOptions {
    const bind = 'mount --bind "$0" /etc/resolv.conf && exec "$@"'
    return {
      program: {
        command: "unshare",
        args: ["--mount", "sh", "-c", bind, this.#resolvConf, fromSource.command, ...fromSource.args],
      },
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync()
  }
}
