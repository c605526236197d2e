// What the tests of a client library in another language need and cannot start themselves: unreliable networks and
// clusters. They ask for them over HTTP (sdks/harness/README.md). The harness ends everything that a test left behind.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { ClusterHarness } from "@punctual/server/testkit/ClusterHarness"
import { postgresBinaries } from "@punctual/server/testkit/PostgresBinaries"
import { type Fault, faultKinds, UnreliableProxy } from "./UnreliableProxy.ts"

/** What a caller did wrong, or what this machine does not have. */
class Refused extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export class ClientHarness implements AsyncDisposable {
  readonly url: string
  readonly #server: Server
  readonly #proxies = new Map<string, UnreliableProxy>()
  readonly #clusters = new Map<string, ClusterHarness>()
  #lastId = 0

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on("request", (request, response) => void this.#handle(request, response))
  }

  static async start(): Promise<ClientHarness> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    return new ClientHarness(server)
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = (status: number, value: unknown) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value))
    try {
      answer(200, await this.#answer(request.method ?? "", request.url ?? "", await bodyOf(request)))
    } catch (error) {
      const status = error instanceof Refused ? error.status : 500
      answer(status, { error: error instanceof Error ? error.message : String(error) })
    }
  }

  #answer(method: string, path: string, body: string): Promise<unknown> {
    const [, kind = "", id = "", part = "", partId = ""] = path.split("/")
    switch (`${method} ${kind} ${part}`.trim()) {
      case "POST proxies":
        return this.#startProxy(body)
      case "GET proxies":
        return Promise.resolve({ requests: known(this.#proxies, id).requests })
      case "PUT proxies faults":
        known(this.#proxies, id).faults = faultsIn(body)
        return Promise.resolve({})
      case "DELETE proxies":
        return ended(this.#proxies, id)
      case "POST clusters":
        return this.#startCluster()
      case "DELETE clusters nodes":
        return killed(known(this.#clusters, id), partId)
      case "DELETE clusters":
        return ended(this.#clusters, id)
      default:
        throw new Refused(404, `there is no ${method} ${path}`)
    }
  }

  async #startProxy(body: string): Promise<unknown> {
    const { target } = JSON.parse(body) as { readonly target?: unknown }
    if (typeof target !== "string" || !target.startsWith("http://127.0.0.1:"))
      throw new Refused(400, "target must be a URL that begins with http://127.0.0.1:")
    const proxy = await UnreliableProxy.before(target)
    return { id: this.#keep(this.#proxies, proxy), url: proxy.url }
  }

  async #startCluster(): Promise<unknown> {
    const binaries = postgresBinaries("installed")
    if ("missing" in binaries) throw new Refused(503, binaries.missing)
    const cluster = await ClusterHarness.start({ nodes: 3 })
    return { id: this.#keep(this.#clusters, cluster), urls: cluster.nodes.map(({ url }) => url) }
  }

  #keep<A>(kept: Map<string, A>, value: A): string {
    const id = `${++this.#lastId}`
    kept.set(id, value)
    return id
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
    for (const left of [...this.#proxies.values(), ...this.#clusters.values()])
      await left[Symbol.asyncDispose]()
  }
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Uint8Array> = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString("utf8")
}

const known = <A>(kept: ReadonlyMap<string, A>, id: string): A => {
  const value = kept.get(id)
  if (value === undefined) throw new Refused(404, `there is nothing with the id ${id}`)
  return value
}

const ended = async (kept: Map<string, AsyncDisposable>, id: string): Promise<unknown> => {
  const value = known(kept, id)
  kept.delete(id)
  await value[Symbol.asyncDispose]()
  return {}
}

const killed = async (cluster: ClusterHarness, index: string): Promise<unknown> => {
  const node = cluster.nodes[Number(index)]
  if (node === undefined) throw new Refused(404, `there is no node ${index}: the first one is 0`)
  await node.kill()
  return {}
}

const faultsIn = (body: string): Array<Fault> => {
  const given: unknown = JSON.parse(body)
  if (!Array.isArray(given)) throw new Refused(400, "the body must be an array of faults")
  return given.map((name: unknown) => {
    const fault = faultKinds.find((kind) => kind === name)
    if (fault === undefined) throw new Refused(400, `a fault is one of ${faultKinds.join(", ")}`)
    return fault
  })
}
