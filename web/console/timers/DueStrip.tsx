/** What is due when: bars above the list. Selecting a span narrows the list to it. */

import type { TimerHistogramAnswer } from "@punctual/api/TimerHistogram"
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Button } from "../../kit/Button.tsx"
import { useLiveInterval } from "../../kit/live.ts"
import { useIsTimeKnown, useNow } from "../../kit/now.ts"
import { changeParameters } from "../../kit/places.ts"
import { type Span, Strip, zoomed } from "../../kit/Strip.tsx"
import { Switch } from "../../kit/Switch.tsx"
import { call } from "../../kit/serviceCall.ts"
import { exactText, offsetMinutes, relativeText } from "../../kit/times.ts"
import { useZone } from "../../kit/zone.ts"
import type { TimerPage } from "../api.ts"
import { usePlace } from "../location.ts"
import type { SearchRequest } from "./search.ts"
import { bucketsOf, selectionOf, spanChoices, spanOf, spanText } from "./stripSpan.ts"

type Histogram = typeof TimerHistogramAnswer.Encoded

const everyMs = 10_000

export const DueStrip = ({ request }: { readonly request: SearchRequest }) => {
  const { parameters } = usePlace()
  const nowMs = useNow()
  const isTimeKnown = useIsTimeKnown()
  const zone = useZone()
  // Finished timers are in the past, and pending ones are in the future.
  const isPast = !request.states.includes("pending")
  const chosen = parameters.get("strip") ?? undefined
  const span = spanOf(chosen, isPast, nowMs, offsetMinutes(nowMs, zone) * 60_000)
  const buckets = bucketsOf(chosen)
  const filter = { ...request, ...isoOf(span) }
  const { data, isError } = useQuery({
    queryKey: ["histogram", filter],
    queryFn: ({ signal }) => call<Histogram>("timers/histogram", { filter, buckets }, signal),
    placeholderData: keepPreviousData,
    // The span depends on the time.
    enabled: isTimeKnown,
    refetchInterval: useLiveInterval(everyMs),
  })
  const selection = selectionOf(parameters.get("from"), parameters.get("until"), span)
  const select = (selected: Span | undefined) =>
    changeParameters(selected === undefined ? { from: undefined, until: undefined } : isoOf(selected))
  const zoom = (next: Span) => changeParameters({ strip: spanText(next) }, { replace: true })
  // The buttons keep now where it is, as long as it is in view.
  const isNowShown = nowMs >= span.fromMs && nowMs < span.untilMs
  const fixedPart = isNowShown ? (nowMs - span.fromMs) / (span.untilMs - span.fromMs) : 0.5
  const summary = summaryOf(data, span, zone, isPast)
  return (
    <section className="due card" aria-label={isPast ? "When timers finished" : "When timers are due"}>
      <header className="due-head">
        <h2>{isPast ? "Finished" : "Due"}</h2>
        <span className="muted figures due-note">
          {isError ? "The counts could not be loaded." : noteOf(data, nowMs)}
        </span>
        {data?.total === 0 && <Elsewhere request={request} span={span} isPast={isPast} />}
        {selection !== undefined && (
          <Button look="quiet" isSmall icon="close" onClick={() => select(undefined)}>
            Clear the selection
          </Button>
        )}
        <Button look="quiet" isSmall label="Zoom out" onClick={() => zoom(zoomed(span, fixedPart, 2))}>
          −
        </Button>
        <Button look="quiet" isSmall label="Zoom in" onClick={() => zoom(zoomed(span, fixedPart, 0.5))}>
          +
        </Button>
        <Switch
          label="Span"
          value={chosen ?? "24h"}
          options={Object.keys(spanChoices).map((choice) => ({ value: choice, label: choice }))}
          onChange={(choice) => changeParameters({ strip: choice })}
        />
      </header>
      <Strip
        span={span}
        counts={data?.counts}
        nowMs={isTimeKnown ? nowMs : undefined}
        selection={isTimeKnown ? selection : undefined}
        label={summary}
        onSelect={select}
        onZoom={zoom}
      />
    </section>
  )
}

interface ElsewhereProps {
  readonly request: SearchRequest
  readonly span: Span
  readonly isPast: boolean
}

const dayMs = 86_400_000

/** Leads to the first timer of the search if the chart shows none, because that timer is outside of its span. */
const Elsewhere = ({ request, span, isPast }: ElsewhereProps) => {
  const { data } = useQuery({
    queryKey: ["first-timer", request],
    queryFn: ({ signal }) => call<TimerPage>("timers/list", { ...request, limit: 1 }, signal),
  })
  const first = data?.timers[0]
  if (first === undefined) return null
  const atMs = Date.parse(first.finishedAt ?? first.fireAt ?? first.executeAt)
  if (atMs >= span.fromMs && atMs < span.untilMs) return null
  const around = { fromMs: atMs - dayMs / 16, untilMs: atMs + dayMs - dayMs / 16 }
  return (
    <Button isSmall onClick={() => changeParameters({ strip: spanText(around) })}>
      {isPast ? "Outside of this chart: show the last one" : "Outside of this chart: show the next one"}
    </Button>
  )
}

const isoOf = ({ fromMs, untilMs }: Span) => ({
  from: new Date(fromMs).toISOString(),
  until: new Date(untilMs).toISOString(),
})

/** How exact the counts are. */
const noteOf = (data: Histogram | undefined, nowMs: number): string => {
  if (data === undefined) return ""
  const total = `${data.total.toLocaleString("en")}${data.capped === true ? "+" : ""} in this chart`
  const notes = [
    data.estimated ? `estimated, counted ${relativeText(Date.parse(data.asOf), nowMs)}` : "",
    data.missing === undefined ? "" : `without ${data.missing.join(", ")}, which did not answer`,
  ].filter((note) => note !== "")
  return [total, ...notes].join(" · ")
}

/** The picture in words. */
const summaryOf = (data: Histogram | undefined, span: Span, zone: string, isPast: boolean): string => {
  const what = isPast ? "Timers that finished" : "Timers that are due"
  const between = `between ${exactText(span.fromMs, zone)} and ${exactText(span.untilMs, zone)}`
  if (data === undefined) return `${what} ${between}`
  const most = Math.max(0, ...data.counts)
  const at = data.counts.indexOf(most)
  const stepMs = (span.untilMs - span.fromMs) / data.counts.length
  const peak = most === 0 ? "" : `, most of them (${most}) from ${exactText(span.fromMs + at * stepMs, zone)}`
  return `${what} ${between}: ${data.total}${peak}`
}
