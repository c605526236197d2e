/**
 * A row of bars over time. The reader drags to select a span, clicks a bar to select it, turns the wheel to zoom, and
 * double-clicks to select nothing. Whoever uses it must offer the same by keyboard, because a picture cannot.
 */
import { type PointerEvent, useEffect, useRef, useState } from "react"
import { axisTicks } from "./axisTicks.ts"
import { clockText, dayText, exactText } from "./times.ts"
import { useWidth } from "./useWidth.ts"
import { useZone } from "./zone.ts"
import "./strip.css"

/** Half-open, in milliseconds since 1970. */
export interface Span {
  readonly fromMs: number
  readonly untilMs: number
}

export interface StripProps {
  readonly span: Span
  /** One count for each part of the span. Undefined while they are loaded. */
  readonly counts: ReadonlyArray<number> | undefined
  /** Undefined until the page knows it. Then nothing is drawn that depends on it. */
  readonly nowMs: number | undefined
  readonly selection: Span | undefined
  /** The content of the picture in words. */
  readonly label: string
  readonly onSelect: (selection: Span | undefined) => void
  readonly onZoom: (span: Span) => void
}

const height = 72
const axisHeight = 20
const gap = 1
/** A shorter drag is a click. */
const dragPixels = 4
const zoomStep = 1.25
const shortestMs = 60_000
const longestMs = 366 * 86_400_000

export const Strip = ({ span, counts, nowMs, selection, label, onSelect, onZoom }: StripProps) => {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const zone = useZone()
  const [drag, setDrag] = useState<{ readonly startX: number; readonly x: number }>()
  const [hover, setHover] = useState<number>()
  const { fromMs, untilMs } = span
  const buckets = counts?.length ?? 1
  const stepMs = (untilMs - fromMs) / buckets
  const xOf = (atMs: number) => ((atMs - fromMs) / (untilMs - fromMs)) * width
  const bucketAt = (x: number) => Math.max(0, Math.min(buckets - 1, Math.floor((x / width) * buckets)))
  const highest = Math.max(1, ...(counts ?? []))
  const plot = height - axisHeight

  useWheelZoom(box, span, onZoom)

  const pointerX = (event: PointerEvent) => event.clientX - (box.current?.getBoundingClientRect().left ?? 0)
  const spanBetween = (first: number, second: number): Span => {
    const [low, high] = [Math.min(first, second), Math.max(first, second)].map(bucketAt)
    return { fromMs: fromMs + (low ?? 0) * stepMs, untilMs: fromMs + ((high ?? 0) + 1) * stepMs }
  }
  const isDragging = drag !== undefined && Math.abs(drag.x - drag.startX) >= dragPixels
  const marked = isDragging ? spanBetween(drag.startX, drag.x) : selection
  const finish = () => {
    if (drag === undefined) return
    setDrag(undefined)
    const chosen = spanBetween(drag.startX, isDragging ? drag.x : drag.startX)
    onSelect({ fromMs: Math.round(chosen.fromMs), untilMs: Math.round(chosen.untilMs) })
  }
  return (
    <div
      ref={box}
      className="strip"
      role="img"
      aria-label={label}
      onPointerDown={(event) => {
        if (event.button !== 0 || event.pointerType === "touch") return
        event.currentTarget.setPointerCapture(event.pointerId)
        setDrag({ startX: pointerX(event), x: pointerX(event) })
      }}
      onPointerMove={(event) => {
        const x = pointerX(event)
        setHover(bucketAt(x))
        if (drag !== undefined) setDrag({ ...drag, x })
      }}
      onPointerUp={finish}
      onPointerCancel={() => setDrag(undefined)}
      onPointerLeave={() => setHover(undefined)}
      onDoubleClick={() => onSelect(undefined)}
    >
      <svg width={width} height={height} aria-hidden="true">
        {(nowMs === undefined ? [] : axisTicks(span, zone, width)).map(({ atMs, text }) => (
          <g key={atMs} className="strip-tick">
            <line x1={xOf(atMs)} x2={xOf(atMs)} y1={0} y2={plot} />
            <text x={xOf(atMs)} y={height - 5}>
              {text}
            </text>
          </g>
        ))}
        {marked !== undefined && (
          <rect
            className="strip-marked"
            x={xOf(marked.fromMs)}
            width={Math.max(2, xOf(marked.untilMs) - xOf(marked.fromMs))}
            y={0}
            height={plot}
          />
        )}
        {counts?.map((count, index) => {
          const barWidth = width / buckets
          const size = count === 0 ? 0 : Math.max(2, (count / highest) * (plot - 8))
          const isPast = nowMs !== undefined && fromMs + (index + 1) * stepMs <= nowMs
          return (
            <rect
              // A bar has no identity but its place.
              key={String(index)}
              className={isPast ? "strip-bar strip-past" : "strip-bar"}
              x={index * barWidth}
              width={Math.max(1, barWidth - gap)}
              y={plot - size}
              height={size}
              rx={Math.min(2, barWidth / 4)}
            />
          )
        })}
        <line className="strip-base" x1={0} x2={width} y1={plot} y2={plot} />
        {nowMs !== undefined && nowMs >= fromMs && nowMs < untilMs && (
          <g className="strip-now">
            <line x1={xOf(nowMs)} x2={xOf(nowMs)} y1={0} y2={plot} />
            <text x={xOf(nowMs) + 4} y={10}>
              now
            </text>
          </g>
        )}
      </svg>
      {hover !== undefined && counts !== undefined && isDragging && marked !== undefined && (
        <Tip
          x={(hover + 0.5) * (width / buckets)}
          width={width}
          text={spanWords(marked, zone)}
          count={counts
            .slice(
              Math.round((marked.fromMs - fromMs) / stepMs),
              Math.round((marked.untilMs - fromMs) / stepMs),
            )
            .reduce((sum, count) => sum + count, 0)}
        />
      )}
      {hover !== undefined && counts !== undefined && !isDragging && (
        <Tip
          x={(hover + 0.5) * (width / buckets)}
          width={width}
          text={spanWords({ fromMs: fromMs + hover * stepMs, untilMs: fromMs + (hover + 1) * stepMs }, zone)}
          count={counts[hover] ?? 0}
        />
      )}
    </div>
  )
}

const spanWords = ({ fromMs, untilMs }: Span, zone: string): string => {
  const minute = (ms: number) => Math.round(ms / 60_000) * 60_000
  const until = minute(untilMs)
  const isSameDay = dayText(minute(fromMs), zone) === dayText(until - 1, zone)
  const untilText = isSameDay ? clockText(until, zone).slice(0, 5) : exactText(until, zone).slice(0, -3)
  return `${exactText(minute(fromMs), zone).slice(0, -3)} – ${untilText}`
}

interface TipProps {
  readonly x: number
  readonly width: number
  readonly text: string
  readonly count: number
}

const Tip = ({ x, width, text, count }: TipProps) => (
  <div className="strip-tip figures" style={x > width / 2 ? { right: width - x + 8 } : { left: x + 8 }}>
    <strong>{count.toLocaleString("en")}</strong> {text}
  </div>
)

/** React's own wheel events cannot stop the page from scrolling. */
const useWheelZoom = (
  box: { readonly current: HTMLElement | null },
  span: Span,
  onZoom: StripProps["onZoom"],
): void => {
  const current = useRef({ span, onZoom })
  current.current = { span, onZoom }
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const onWheel = (event: WheelEvent) => {
      event.preventDefault()
      const { span, onZoom } = current.current
      const { left, width } = element.getBoundingClientRect()
      onZoom(
        event.deltaX !== 0 && Math.abs(event.deltaX) > Math.abs(event.deltaY)
          ? moved(span, event.deltaX / width)
          : zoomed(span, (event.clientX - left) / width, event.deltaY > 0 ? zoomStep : 1 / zoomStep),
      )
    }
    element.addEventListener("wheel", onWheel, { passive: false })
    return () => element.removeEventListener("wheel", onWheel)
  }, [box])
}

/** The instant at this part of the span keeps its place. */
export const zoomed = ({ fromMs, untilMs }: Span, part: number, factor: number): Span => {
  const lengthMs = Math.max(shortestMs, Math.min(longestMs, (untilMs - fromMs) * factor))
  const fixedMs = fromMs + part * (untilMs - fromMs)
  const newFromMs = Math.round(fixedMs - part * lengthMs)
  return { fromMs: newFromMs, untilMs: newFromMs + Math.round(lengthMs) }
}

const moved = ({ fromMs, untilMs }: Span, part: number): Span => {
  const byMs = Math.round(part * (untilMs - fromMs))
  return { fromMs: fromMs + byMs, untilMs: untilMs + byMs }
}
