/** An instant as people read it. The exact time and its zone are always there: beside it, or when the pointer rests. */
import { useNow } from "./now.ts"
import { exactText, offsetText, relativeText, shortText } from "./times.ts"
import { useZone } from "./zone.ts"

export interface MomentProps {
  /** ISO 8601. */
  readonly at: string
  /** What stands in the text. `short` is for lists: relative, and as much of the exact time as is needed. */
  readonly show?: "relative" | "exact" | "both" | "short"
}

export const Moment = ({ at, show = "relative" }: MomentProps) => {
  const atMs = Date.parse(at)
  const zone = useZone()
  const exact = `${exactText(atMs, zone)} ${offsetText(atMs, zone)}`
  return (
    <time dateTime={at} title={`${exact} (${zone})`}>
      {show === "exact" ? exact : <Relative atMs={atMs} />}
      {show === "both" && <span className="moment-exact"> {exact}</span>}
      {show === "short" && (
        <span className="moment-exact">
          {" "}
          <Short atMs={atMs} zone={zone} />
        </span>
      )}
    </time>
  )
}

/** Only these parts are drawn again every second. */
const Relative = ({ atMs }: { readonly atMs: number }) => (
  <span className="moment-relative">{relativeText(atMs, useNow())}</span>
)

const Short = ({ atMs, zone }: { readonly atMs: number; readonly zone: string }) => (
  <>{shortText(atMs, useNow(), zone)}</>
)
