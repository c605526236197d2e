/**
 * An instant as people read it. The exact time and its zone are always there: beside it, or when the pointer rests. Until
 * the page knows the time of the service, the place of the relative time stays empty, so that nothing moves later.
 */
import { useIsTimeKnown, useNow } from "./now.ts"
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
  <span className={useIsTimeKnown() ? "moment-relative" : "moment-relative time-unknown"}>
    {relativeText(atMs, useNow())}
  </span>
)

const Short = ({ atMs, zone }: { readonly atMs: number; readonly zone: string }) => {
  const now = useNow()
  // Nothing is left out while it is not known which day it is.
  return <>{shortText(atMs, useIsTimeKnown() ? now : longAgoMs, zone)}</>
}

const longAgoMs = 0
