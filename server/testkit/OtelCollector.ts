// A real OpenTelemetry Collector for the tests of traces and logs, built by Go into the cache folder of the user. It
// parses requests with the code that collectors in production use, and writes what it took as lines of JSON.
import { execFileSync } from "node:child_process"
import { cpSync, existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describeNeeding } from "./describeUnless.ts"
import { fetchedFolder } from "./fetchedFolder.ts"
import { ServerProcess } from "./ServerProcess.ts"

const version = "0.120.0"
const buildWithinMs = 1_200_000
const sources = fileURLToPath(new URL("./otelCollector", import.meta.url))

let found: { readonly path: string } | { readonly missing: string } | undefined

/** Searched once. If it must be built, the first call takes some minutes. */
const collectorBinary = () => {
  found ??= locate()
  return found
}

const locate = () => {
  const folder = fetchedFolder({ name: `otelcol-${version}-1`, fill: isBuilt, withinMs: buildWithinMs })
  return folder === undefined
    ? { missing: "no OpenTelemetry Collector: install Go 1.24 or newer, and allow it to fetch" }
    : { path: join(folder, "collector") }
}

const isBuilt = (folder: string): boolean => {
  process.stderr.write(`The tests need the OpenTelemetry Collector ${version}: go build\n`)
  try {
    cpSync(sources, folder, { recursive: true })
    execFileSync("go", ["build", "-o", "collector", "."], {
      cwd: folder,
      env: { ...process.env, GOFLAGS: "-mod=mod", CGO_ENABLED: "0" },
      stdio: ["ignore", "ignore", "inherit"],
      timeout: buildWithinMs,
    })
  } catch {
    process.stderr.write("That failed.\n")
  }
  return existsSync(join(folder, "collector"))
}

/** Defines tests that need the collector. Without it they are skipped by name, or fail in CI. */
export const describeCollector = (name: string, body: () => void): void => {
  const binary = collectorBinary()
  describeNeeding("missing" in binary ? binary.missing : undefined, name, body)
}

type Attribute = { readonly key: string; readonly value: Readonly<Record<string, unknown>> }

export interface TakenSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes?: ReadonlyArray<Attribute>
  readonly links?: ReadonlyArray<{ readonly traceId: string; readonly spanId: string }>
  readonly status: { readonly code?: number; readonly message?: string }
}

export interface TakenLog {
  readonly severityNumber: number
  readonly body: { readonly stringValue: string }
  readonly attributes?: ReadonlyArray<Attribute>
  readonly traceId: string
  readonly spanId: string
}

interface Taken {
  readonly resourceSpans?: ReadonlyArray<{
    readonly resource: { readonly attributes: ReadonlyArray<Attribute> }
    readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<TakenSpan> }>
  }>
  readonly resourceLogs?: ReadonlyArray<{
    readonly scopeLogs: ReadonlyArray<{ readonly logRecords: ReadonlyArray<TakenLog> }>
  }>
}

/** The attributes by name. Whole numbers are numbers, also if JSON has them as texts. */
export const attributesOf = (attributes: ReadonlyArray<Attribute> = []): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      "intValue" in value ? Number(value["intValue"]) : Object.values(value)[0],
    ]),
  )

export class OtelCollector implements AsyncDisposable {
  readonly #server: ServerProcess

  private constructor(server: ServerProcess) {
    this.#server = server
  }

  static async start(): Promise<OtelCollector> {
    const binary = collectorBinary()
    if ("missing" in binary) throw new Error(binary.missing)
    const server = await ServerProcess.start({
      title: "the OpenTelemetry Collector",
      program: ({ ports }) => ({ command: binary.path, args: [`127.0.0.1:${ports[0]}`] }),
    })
    return new OtelCollector(server)
  }

  get endpoint(): string {
    return `http://${this.#server.address}`
  }

  get spans(): ReadonlyArray<TakenSpan> {
    return this.#taken.flatMap(({ resourceSpans = [] }) =>
      resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
    )
  }

  get logs(): ReadonlyArray<TakenLog> {
    return this.#taken.flatMap(({ resourceLogs = [] }) =>
      resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords)),
    )
  }

  get resource(): Readonly<Record<string, unknown>> {
    const first = this.#taken.find(({ resourceSpans }) => resourceSpans !== undefined)?.resourceSpans?.[0]
    return attributesOf(first?.resource.attributes)
  }

  /** Everything that it wrote, for tests that look for what must not be there. */
  get text(): string {
    return this.#server.logs.join("\n")
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server[Symbol.asyncDispose]()
  }

  /** Lines of its own log are not JSON. */
  get #taken(): ReadonlyArray<Taken> {
    return this.#server.logs
      .filter((line) => line.startsWith('{"resource'))
      .map((line) => JSON.parse(line) as Taken)
  }
}
