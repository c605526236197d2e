// The cluster as this node sees it, for operators. Only the other nodes know their own lag, so this node asks each of
// them once with a short timeout. If a node does not answer, its lag is left out.
import type { ClusterAnswer, GetCluster } from "@punctual/api/Cluster"
import { Effect } from "effect"
import { Engine } from "../engine/Engine.ts"
import type { ClusterState } from "../engine/ownership/ClusterView.ts"
import type { PeerActivity } from "../ports/PeerActivity.ts"
import type { ShardLag, ShardLags } from "../ports/ShardLags.ts"
import type { Call } from "./Call.ts"

export interface ClusterParts {
  /** Absent if only one process uses the store. */
  readonly lags?: ShardLags["Service"] | undefined
  readonly activity?: PeerActivity["Service"] | undefined
  /** How far the clock of this node is ahead of the clock of the database, if there is one. */
  readonly clockOffsetMs?: (() => number | undefined) | undefined
}

const askWithinMs = 300
const askedAtOnce = 16

export interface ClusterCalls {
  readonly cluster: Call<GetCluster, ClusterAnswer>
}

export const makeClusterCalls = (parts: ClusterParts): Effect.Effect<ClusterCalls, never, Engine> =>
  Effect.map(Engine, (engine) => ({
    cluster: () =>
      Effect.suspend(() => {
        const state = engine.cluster()
        return Effect.map(lagsElsewhere(state, parts.lags), (lags) =>
          answerOf(state, lags, parts.clockOffsetMs?.()),
        )
      }),
  }))

/** The lags of shards that other nodes own, by shard. */
const lagsElsewhere = (
  state: ClusterState,
  lags: ShardLags["Service"] | undefined,
): Effect.Effect<ReadonlyMap<number, ShardLag>> => {
  const owners = new Set(state.shards.flatMap(({ owner, isMine }) => (isMine ? [] : (owner ?? []))))
  const others = state.members.filter(
    ({ node, address, isLive }) => isLive && address !== "" && owners.has(node),
  )
  if (lags === undefined || others.length === 0) return Effect.succeed(new Map())
  const asked = Effect.forEach(
    others,
    (member) =>
      lags.of(member).pipe(
        Effect.timeoutOrElse({ duration: askWithinMs, orElse: () => Effect.succeed([]) }),
        Effect.catch(() => Effect.succeed([])),
      ),
    { concurrency: askedAtOnce },
  )
  return Effect.map(asked, (answers) => new Map(answers.flat().map((lag) => [lag.shard, lag])))
}

const answerOf = (
  { node, members, shards }: ClusterState,
  lags: ReadonlyMap<number, ShardLag>,
  clockOffsetMs: number | undefined,
): ClusterAnswer => ({
  node,
  nodes: members.map(({ beatAgeMs, lacksSignatures: _, ...member }) => ({
    ...member,
    heartbeatAgeMs: atLeastZero(beatAgeMs),
    shards: shards.filter(({ owner }) => owner === member.node).length,
  })),
  shards: shards.map(({ shard, owner, epoch, lagMs }) => {
    const told = lags.get(shard)
    // A former owner answers with an old epoch, and its lag does not count.
    const lag = lagMs ?? (told?.epoch === epoch ? told.lagMs : undefined)
    return {
      shard,
      ...(owner === undefined ? {} : { owner }),
      epoch,
      ...(lag === undefined ? {} : { lagMs: atLeastZero(lag) }),
    }
  }),
  ...(clockOffsetMs === undefined ? {} : { clockOffsetMs }),
})

const atLeastZero = (ms: number): number => Math.max(0, Math.round(ms))
