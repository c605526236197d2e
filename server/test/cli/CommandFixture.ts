// Runs commands and captures their output, with a service that answers what a test says and records its requests.
import { once } from "node:events"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect } from "effect"
import { type CommandParts, runPunctual } from "../../../app/src/commands.ts"
import { allBuses } from "../../src/buses/all.ts"
import type { ServiceAddress } from "../../src/cli/client/ServiceAddress.ts"
import type { Surroundings } from "../../src/cli/frame/CommandRuntime.ts"
import { trialDelivery } from "../../src/deliverers/webhook/trialDelivery.ts"
import { allStores } from "../../src/stores/all.ts"

export interface Ended {
  readonly exitCode: number
  readonly out: string
  readonly err: string
}

export interface Surrounded extends Partial<Surroundings> {
  /** TIMER_URL. */
  readonly environmentUrl?: string
  /** The other variables. */
  readonly environment?: Readonly<Record<string, string>>
  readonly stdin?: string
  readonly parts?: Partial<CommandParts>
}

/** Runs `punctual <args>`. The command can open only what the test gives. */
export const run = async (
  args: ReadonlyArray<string>,
  { environmentUrl, environment = {}, stdin = "", parts, ...surroundings }: Surrounded = {},
): Promise<Ended> => {
  const out: Array<string> = []
  const err: Array<string> = []
  const exitCode = await runPunctual(
    args,
    commandParts({
      input: {
        environment: {
          ...environment,
          ...(environmentUrl === undefined ? {} : { TIMER_URL: environmentUrl }),
        },
        stdin: async function* () {
          yield new TextEncoder().encode(stdin)
        },
      },
      ...parts,
    }),
    {
      columns: undefined,
      out: async (text) => void out.push(text),
      err: async (text) => void err.push(text),
      onStop: () => () => {},
      ...surroundings,
    },
  )
  return { exitCode, out: out.join(""), err: err.join("") }
}

/** The parts of the commands, of which none opens anything unless the test gives it. */
export const commandParts = (parts: Pick<CommandParts, "input"> & Partial<CommandParts>): CommandParts => ({
  adapters: { stores: allStores, buses: allBuses },
  trialDelivery,
  openArchive: () => notOpened,
  openImportTarget: () => notOpened,
  keeping: {
    examination: () => notOpened,
    copies: () => notOpened,
    restoreTarget: () => notOpened,
    schema: () => notOpened,
    storeKeys: () => notOpened,
  },
  ...parts,
})

/** A service that is called without a key. */
export const withoutKey = (url: string): ServiceAddress => ({ url, readKey: () => ({}) })

const notOpened = Effect.die(new Error("the command opened something that the test did not give"))

export interface Asked {
  readonly method: string
  readonly path: string
  readonly body: string
  /** The header with the key. */
  readonly authorization?: string
}

export interface AnsweringService extends AsyncDisposable {
  readonly url: string
  readonly asked: ReadonlyArray<Asked>
}

interface Told {
  readonly status?: number
  /** Sent as JSON, unless it is text. */
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A service that answers each request with the result of `answer`. */
export const serviceThatAnswers = async (answer: (asked: Asked) => Told): Promise<AnsweringService> => {
  const asked: Array<Asked> = []
  const server = createServer(async (request, response) => {
    const { authorization } = request.headers
    const one = {
      method: request.method ?? "",
      path: request.url ?? "",
      body: await bodyOf(request),
      ...(authorization === undefined ? {} : { authorization }),
    }
    asked.push(one)
    const { status = 200, body, headers = {} } = answer(one)
    response
      .writeHead(status, { "content-type": "application/json", ...headers })
      .end(typeof body === "string" ? body : JSON.stringify(body))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
}

/** The path, below that of the API, and the body of each request. */
export const requestsTo = ({ asked }: AnsweringService): ReadonlyArray<readonly [string, unknown]> =>
  asked.map(({ path, body }) => [path.replace(/^\/api\/v1/, ""), JSON.parse(body)] as const)

/** A problem document as the service writes it. */
export const problem = (status: number, code: string, detail: string, more: object = {}): Told => ({
  status,
  body: { type: `urn:punctual:problem:${code}`, title: "No", status, code, detail, ...more },
})

/** The rows of a table. Two or more blanks separate the cells. */
export const rowsOf = (text: string): ReadonlyArray<ReadonlyArray<string>> =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => line.split(/ {2,}/))

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
