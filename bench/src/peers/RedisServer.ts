// The benchmark's own Redis server: on a free loopback port, with its files in a temporary folder and an append-only
// file. The program is found on the machine, or unpacked from Debian's packages without an installation.
import { existsSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { librariesBelow, unpackDebian } from "@punctual/server/testkit/DebianPackages"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"

const cache = fileURLToPath(new URL("../../../node_modules/.cache/punctual/redis", import.meta.url))
const packages = [
  "redis-server",
  "redis-tools",
  "libjemalloc2",
  "liblua5.1-0",
  "liblzf1",
  "lua-bitop",
  "lua-cjson",
]
const startWithinMs = 10_000

export type RedisBinary = { readonly path: string; readonly libraries: string } | { readonly missing: string }

export class RedisServer implements AsyncDisposable {
  readonly url: string
  readonly #child: Bun.Subprocess
  readonly #folder: TemporaryFolder

  private constructor(port: number, child: Bun.Subprocess, folder: TemporaryFolder) {
    this.url = `redis://127.0.0.1:${port}`
    this.#child = child
    this.#folder = folder
  }

  static async start(options: { readonly appendfsync: "everysec" | "always" }): Promise<RedisServer> {
    const binary = redisBinary()
    if ("missing" in binary) throw new Error(binary.missing)
    const folder = new TemporaryFolder()
    const port = await freePort()
    const settings = {
      port: String(port),
      bind: "127.0.0.1",
      dir: folder.path,
      appendonly: "yes",
      appendfsync: options.appendfsync,
      // BullMQ requires this.
      "maxmemory-policy": "noeviction",
      save: "",
      // Redis wakes blocked clients by its internal clock. With ten ticks per second, the default, delayed jobs are up to
      // 100 ms late. Its configuration file recommends at most a hundred.
      hz: "100",
    }
    const child = Bun.spawn(
      [binary.path, ...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])],
      { env: { ...process.env, LD_LIBRARY_PATH: binary.libraries }, stdio: ["ignore", "ignore", "inherit"] },
    )
    const server = new RedisServer(port, child, folder)
    await server.#untilReady(port)
    return server
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL")
    await this.#child.exited
    this.#folder[Symbol.dispose]()
  }

  async #untilReady(port: number): Promise<void> {
    const deadline = performance.now() + startWithinMs
    while (performance.now() < deadline && this.#child.exitCode === null) {
      const redis = new Bun.RedisClient(`redis://127.0.0.1:${port}`, { autoReconnect: false })
      try {
        if ((await redis.send("PING", [])) === "PONG") return
      } catch {
        await Bun.sleep(20)
      } finally {
        redis.close()
      }
    }
    await this[Symbol.asyncDispose]()
    throw new Error("the Redis server did not start")
  }
}

/** Looks for the program once, and downloads it if it is missing. */
export const redisBinary = (): RedisBinary => {
  found ??= locate()
  return found
}

let found: RedisBinary | undefined

const locate = (): RedisBinary => {
  const installed = Bun.which("redis-server")
  if (installed !== null) return { path: installed, libraries: "" }
  if (!existsSync(cache) && !unpackDebian(packages, cache, "The benchmarks need a redis-server")) {
    return { missing: "no redis-server found: install one, or allow apt-get to download Debian's package" }
  }
  return { path: join(cache, "usr/bin/redis-server"), libraries: librariesBelow(cache) }
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => (typeof address === "object" && address !== null ? resolve(address.port) : reject()))
    })
  })
