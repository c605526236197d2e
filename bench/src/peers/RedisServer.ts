// A Redis server of the benchmark's own: on a free port of the loopback, its files in a temporary folder, with an
// append-only file. Found on the machine, or unpacked from Debian's packages without being installed.
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
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

interface Binary {
  readonly path: string
  readonly libraries: string
}

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
    const binary = locate()
    const folder = new TemporaryFolder()
    const port = await freePort()
    const settings = {
      port: String(port),
      bind: "127.0.0.1",
      dir: folder.path,
      appendonly: "yes",
      appendfsync: options.appendfsync,
      // As BullMQ demands.
      "maxmemory-policy": "noeviction",
      save: "",
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

const locate = (): Binary => {
  const installed = Bun.which("redis-server")
  if (installed !== null) return { path: installed, libraries: "" }
  if (!existsSync(cache)) fetch()
  return {
    path: join(cache, "usr/bin/redis-server"),
    libraries: join(cache, "usr/lib", libraryFolder()),
  }
}

const libraryFolder = (): string =>
  readdirSync(join(cache, "usr/lib")).find((name) => name.endsWith("-linux-gnu")) ?? ""

const fetch = (): void => {
  using folder = new TemporaryFolder()
  try {
    run("apt-get", ["download", ...packages], folder.path)
    for (const archive of readdirSync(folder.path).filter((file) => file.endsWith(".deb"))) {
      run("dpkg-deb", ["-x", archive, "unpacked"], folder.path)
    }
    mkdirSync(join(cache, ".."), { recursive: true })
    rmSync(cache, { recursive: true, force: true })
    run("cp", ["-a", join(folder.path, "unpacked"), `${cache}.partial`], folder.path)
    renameSync(`${cache}.partial`, cache)
  } catch (error) {
    throw new Error("no redis-server: install one, or allow apt-get to download Debian's", { cause: error })
  }
}

const run = (command: string, args: ReadonlyArray<string>, cwd: string) =>
  execFileSync(command, args, { cwd, stdio: ["ignore", "ignore", "pipe"], timeout: 120_000 })

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => (typeof address === "object" && address !== null ? resolve(address.port) : reject()))
    })
  })
