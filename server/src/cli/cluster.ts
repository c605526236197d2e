// The cluster for operators: who takes part, who fires which shard, and whether anything lags. It asks one node over
// the API that everyone uses, so that it works wherever that can be reached and needs no credentials of the database.
import { ClusterAnswer } from "@punctual/api/Cluster"
import { Effect, Option, Result, Schema, SchemaParser } from "effect"
import { Command, Flag } from "effect/cli"
import {
  CommandFailed,
  misuse,
  Output,
  printable,
  runCommand,
  type Surroundings,
  switchFlag,
} from "./CommandRuntime.ts"
import { urlName } from "./Settings.ts"
import { textTable } from "./textTable.ts"

const defaultUrl = "http://127.0.0.1:8080"
const answerWithinMs = 10_000
const answerBytesMax = 4 * 1024 * 1024

/** Runs `punctual cluster <args>` and answers the exit code. */
export const cluster = (
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string | undefined>>,
  surroundings?: Surroundings,
): Promise<number> => runCommand(clusterCommand(environment[urlName] ?? defaultUrl), args, surroundings)

const clusterCommand = (environmentUrl: string) =>
  Command.make(
    "cluster",
    {
      url: Flag.String("url").pipe(
        Flag.withMetavar("U"),
        Flag.withDescription(`A node of the cluster (default ${urlName}, or ${defaultUrl})`),
        Flag.optional,
      ),
      json: switchFlag("json", "Answer the JSON object that the node answers"),
    },
    ({ url, json }) =>
      Effect.gen(function* () {
        const base = yield* baseUrl(Option.getOrElse(url, () => environmentUrl))
        const answer = yield* askedAt(base)
        const { answer: say } = yield* Output
        yield* say(json ? JSON.stringify(answer, undefined, 2) : clusterText(answer))
      }),
  ).pipe(
    Command.withDescription(
      [
        "Show the nodes that share a store, and who fires which shard, as one of them sees it.",
        "  The exit code is 0 if a node answered, 1 if none did, 2 for wrong usage.",
      ].join("\n"),
    ),
    Command.withExamples([{ command: "punctual cluster --url http://10.0.0.11:8080" }]),
  )

const baseUrl = (text: string): Effect.Effect<string, ReturnType<typeof misuse>> =>
  URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
    ? Effect.succeed(text.replace(/\/+$/, ""))
    : Effect.fail(misuse(["cluster"], "The URL of a node reads http://host:port: see --url."))

const askedAt = (base: string): Effect.Effect<ClusterAnswer, CommandFailed> =>
  Effect.tryPromise({
    try: (signal) => exchange(`${base}/api/v1/cluster`, signal),
    catch: (error) =>
      failed(base, `cannot be reached (${error instanceof Error ? error.message : String(error)})`),
  }).pipe(
    Effect.timeoutOrElse({
      duration: answerWithinMs,
      orElse: () => Effect.fail(failed(base, `has not answered within ${answerWithinMs / 1_000} s`)),
    }),
    Effect.flatMap(({ status, text }) => {
      if (status !== 200) return Effect.fail(failed(base, `answered ${status}${detailIn(text)}`))
      const decoded = decodeAnswer(parsed(text))
      return Result.isSuccess(decoded)
        ? Effect.succeed(decoded.success)
        : Effect.fail(failed(base, "answered with something else: is it a Punctual of this version?"))
    }),
  )

const decodeAnswer = SchemaParser.decodeUnknownResult(ClusterAnswer)

const failed = (base: string, what: string): CommandFailed =>
  new CommandFailed({ message: printable(`${base} ${what}.`) })

const exchange = async (
  url: string,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly text: string }> => {
  // The runtime's fetch heeds HTTP_PROXY and its like; nodes are spoken to directly.
  process.env["NO_PROXY"] = "*"
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
    redirect: "manual",
    signal,
  })
  const chunks: Array<Uint8Array> = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > answerBytesMax) throw new Error(`its answer has more than ${answerBytesMax} bytes`)
    chunks.push(chunk)
  }
  return { status: response.status, text: Buffer.concat(chunks, bytes).toString("utf8") }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What a problem document says. */
const detailIn = (text: string): string => {
  const problem = Schema.decodeUnknownOption(Schema.Struct({ detail: Schema.String }))(parsed(text))
  return Option.isSome(problem) ? `: ${problem.value.detail.replace(/\.$/, "")}` : ""
}

export const clusterText = (answer: ClusterAnswer): string =>
  [
    textTable([
      ["NODE", "ADDRESS", "STATE", "HEARTBEAT", "SHARDS"],
      ...answer.nodes.map(({ node, address, isLive, isLeaving, heartbeatAgeMs, shards }) => [
        node === answer.node ? `${node} (asked)` : node,
        address === "" ? "-" : address,
        isLive ? (isLeaving ? "leaving" : "live") : "silent",
        `${(heartbeatAgeMs / 1_000).toFixed(1)} s ago`,
        String(shards),
      ]),
    ]),
    "",
    textTable([
      ["SHARD", "OWNER", "EPOCH", "LAG"],
      ...answer.shards.map(({ shard, owner, epoch, lagMs }) => [
        String(shard),
        owner ?? "-",
        String(epoch),
        lagMs === undefined ? "not known" : `${lagMs} ms`,
      ]),
    ]),
    "",
    summary(answer),
  ].join("\n")

const summary = ({ nodes, shards, clockOffsetMs }: ClusterAnswer): string => {
  const silent = nodes.filter(({ isLive }) => !isLive).length
  const free = shards.filter(({ owner }) => owner === undefined).length
  const lag = Math.max(0, ...shards.map(({ lagMs }) => lagMs ?? 0))
  const clock = clockOffsetMs === undefined ? "" : ` ${clockSentence(clockOffsetMs)}`
  return `${nodes.length} nodes, ${silent} silent. ${shards.length} shards, ${free} free. Greatest lag ${lag} ms.${clock}`
}

const clockSentence = (offsetMs: number): string =>
  offsetMs === 0
    ? "The clock of the node asked agrees with the database's."
    : `The clock of the node asked is ${Math.abs(offsetMs)} ms ${offsetMs > 0 ? "ahead of" : "behind"} the database's.`
