/** The service as a whole: who fires which shards and how late, which hosts fail, and what is in force. */
import type { ClusterAnswer } from "@punctual/api/Cluster"
import { useQuery } from "@tanstack/react-query"
import { type ReactNode, useState } from "react"
import { Badge } from "../../kit/Badge.tsx"
import { Button } from "../../kit/Button.tsx"
import { classes } from "../../kit/classes.ts"
import { countText } from "../../kit/countText.ts"
import { Link } from "../../kit/Link.tsx"
import { useLiveInterval } from "../../kit/live.ts"
import { ProblemScreen } from "../../kit/ProblemScreen.tsx"
import { Loading } from "../../kit/Screen.tsx"
import { StaleBanner } from "../../kit/StaleBanner.tsx"
import { useMay } from "../../kit/self.ts"
import { call } from "../../kit/serviceCall.ts"
import { durationText } from "../../kit/times.ts"
import { hrefOf } from "../location.ts"
import { NamespaceLinks } from "../NamespaceLinks.tsx"
import { NeedsRight } from "../NeedsRight.tsx"
import { useNamespaceList } from "../namespaces/useNamespaceList.ts"
import { useDeadCount } from "../useDeadCount.ts"
import { useService } from "../useService.ts"
import { BreakersCard } from "./BreakersCard.tsx"
import { BusCard } from "./BusCard.tsx"
import { lateMs } from "./lateMs.ts"
import { NodesCard } from "./NodesCard.tsx"
import { PauseService } from "./PauseService.tsx"
import { ProgramCard } from "./ProgramCard.tsx"
import { ResumeService } from "./ResumeService.tsx"
import { ShardsCard } from "./ShardsCard.tsx"
import "./status.css"

export type Cluster = typeof ClusterAnswer.Encoded

const StatusPage = () => (
  <>
    <StatusHead />
    <NeedsRight action="service.read" namespace="*">
      <StatusShown />
    </NeedsRight>
  </>
)

export default StatusPage

const StatusHead = () => {
  const may = useMay()
  const service = useService()
  const [isAsking, setAsking] = useState(false)
  const pause = service?.pause
  return (
    <header className="page-head">
      <h1>Status</h1>
      {service !== undefined &&
        (pause === undefined ? <Badge tone="good">timers fire</Badge> : <Badge tone="warning">paused</Badge>)}
      {service !== undefined && may("service.write", "*") && (
        <Button icon={pause === undefined ? "pause" : "play"} onClick={() => setAsking(true)}>
          {pause === undefined ? "Pause the service …" : "Resume …"}
        </Button>
      )}
      {isAsking && pause === undefined && <PauseService onClose={() => setAsking(false)} />}
      {isAsking && pause !== undefined && <ResumeService pause={pause} onClose={() => setAsking(false)} />}
    </header>
  )
}

const StatusShown = () => {
  const { data, error, refetch } = useQuery({
    queryKey: ["cluster"],
    queryFn: ({ signal }) => call<Cluster>("cluster", {}, signal),
    refetchInterval: useLiveInterval(),
  })
  if (data === undefined) {
    return error === null ? (
      <Loading />
    ) : (
      <ProblemScreen what="The status" error={error} onRetry={() => void refetch()} />
    )
  }
  return (
    <div className="status">
      <StaleBanner error={error} />
      <Summary cluster={data} />
      <div className="status-columns">
        <NodesCard cluster={data} />
        <ShardsCard cluster={data} />
      </div>
      <BreakersCard />
      <BusCard />
      <ProgramCard />
    </div>
  )
}

const farOffMs = 500

const Summary = ({ cluster: { nodes, shards, clockOffsetMs } }: { readonly cluster: Cluster }) => {
  const live = nodes.filter(({ isLive }) => isLive).length
  const owned = shards.filter(({ owner }) => owner !== undefined).length
  const lagMs = Math.max(0, ...shards.map((shard) => shard.lagMs ?? 0))
  return (
    <dl className="tiles">
      <Tile name="Nodes live" isBad={live < nodes.length} value={`${live} of ${nodes.length}`} />
      <Tile
        name="Shards with an owner"
        isBad={owned < shards.length}
        value={`${owned} of ${shards.length}`}
      />
      <Tile
        name="Longest overdue"
        isBad={lagMs > lateMs}
        value={durationText(lagMs)}
        note={lagMs === 0 ? "no due timer waits" : "how long ago the oldest waiting timer was due"}
      />
      <DeadTile />
      <PausedTile />
      {clockOffsetMs !== undefined && (
        <Tile
          name="Clock"
          isBad={Math.abs(clockOffsetMs) > farOffMs}
          value={clockOffsetMs === 0 ? "0 ms" : durationText(Math.abs(clockOffsetMs))}
          note={
            clockOffsetMs === 0
              ? "agrees with the clock of the database"
              : `${clockOffsetMs > 0 ? "ahead of" : "behind"} the clock of the database`
          }
        />
      )}
    </dl>
  )
}

const DeadTile = () => {
  const dead = useDeadCount()
  if (dead === undefined) return null
  return (
    <Tile
      name="Dead letters"
      isBad={dead.count > 0}
      value={countText(dead)}
      note={dead.count > 0 && <Link href={hrefOf("dead-letters")}>Look at them</Link>}
    />
  )
}

const namesShown = 3

const PausedTile = () => {
  const may = useMay()
  const list = useNamespaceList("", undefined, may("namespaces.read")).data
  if (list === undefined) return null
  const paused = list.namespaces.flatMap((view) => (view.paused ? [view.namespace] : []))
  return (
    <Tile
      name="Paused namespaces"
      isWarning={paused.length > 0}
      value={String(paused.length)}
      note={
        <>
          <NamespaceLinks names={paused.slice(0, namesShown)} />
          {paused.length > namesShown && ` and ${paused.length - namesShown} more`}
          {list.nextCursor !== undefined && ` among the first ${list.namespaces.length} namespaces`}
        </>
      }
    />
  )
}

interface TileProps {
  readonly name: string
  readonly value: string
  readonly note?: ReactNode
  readonly isBad?: boolean
  readonly isWarning?: boolean
}

const Tile = ({ name, value, note, isBad = false, isWarning = false }: TileProps) => (
  <div className="card tile">
    <dt>{name}</dt>
    <dd className={classes("tile-value", isBad && "tile-bad", isWarning && "tile-warning")}>{value}</dd>
    {note !== undefined && note !== false && <dd className="tile-note">{note}</dd>}
  </div>
)
