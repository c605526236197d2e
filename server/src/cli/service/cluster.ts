// `punctual cluster`: the nodes, who fires which shard, and the lag. The command asks one node over the public API, so
// it needs no credentials of the database.
import { ClusterAnswer } from "@punctual/api/Cluster"
import { Effect } from "effect"
import { Command } from "effect/cli"
import { answerJson, type CommandInput, callService, serviceFlags } from "../client/ServiceClient.ts"
import { Output } from "../frame/CommandRuntime.ts"
import { countOf, spanShown } from "../frame/figures.ts"
import { textTable } from "../frame/textTable.ts"

export const clusterCommand = (input: CommandInput) =>
  Command.make("cluster", serviceFlags(input), ({ service, json }) =>
    Effect.gen(function* () {
      const asked = yield* callService(service, { path: "/cluster", fields: {}, answer: ClusterAnswer })
      if (json) return yield* answerJson(asked.text)
      const { answer } = yield* Output
      yield* answer(clusterText(asked.value))
    }),
  ).pipe(
    Command.withDescription(
      [
        "Show the nodes that share a store, and which node fires which shard. The answer is the view of the node asked.",
        "  The exit code is 0 if a node answered, 1 if none did, 2 for wrong usage.",
      ].join("\n"),
    ),
    Command.withShortDescription("The nodes that share a store, and their shards"),
    Command.withExamples([{ command: "punctual cluster --url http://10.0.0.11:8080" }]),
  )

export const clusterText = (answer: ClusterAnswer): string =>
  [
    textTable([
      ["NODE", "ADDRESS", "STATE", "HEARTBEAT", "SHARDS"],
      ...answer.nodes.map(({ node, address, isLive, isLeaving, heartbeatAgeMs, shards }) => [
        node === answer.node ? `${node} (asked)` : node,
        address === "" ? "-" : address,
        isLive ? (isLeaving ? "leaving" : "live") : "silent",
        heartbeatAgeMs < 60_000
          ? `${(heartbeatAgeMs / 1_000).toFixed(1)} s ago`
          : `${spanShown(heartbeatAgeMs)} ago`,
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
        lagMs === undefined ? "not known" : spanShown(lagMs),
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
  return `${countOf(nodes.length, "node")}, ${silent} silent. ${countOf(shards.length, "shard")}, ${free} free. Longest overdue ${spanShown(lag)}.${clock}`
}

const clockSentence = (offsetMs: number): string =>
  offsetMs === 0
    ? "The clock of the node asked agrees with the clock of the database."
    : `The clock of the node asked is ${spanShown(Math.abs(offsetMs))} ${offsetMs > 0 ? "ahead of" : "behind"} the clock of the database.`
