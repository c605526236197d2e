/** How full something is: a bar below the words that say the same. */
import type { ReactNode } from "react"
import { classes } from "./classes.ts"

export interface MeterProps {
  /** What is measured, for screen readers. */
  readonly label: string
  readonly value: number
  readonly max: number
  /** The words above the bar. */
  readonly children: ReactNode
}

const nearlyFull = 0.8

export const Meter = ({ label, value, max, children }: MeterProps) => {
  const share = max === 0 ? 1 : Math.min(1, value / max)
  return (
    <div className="meter-box">
      <div className="figures">{children}</div>
      <div
        className={classes("meter", share >= nearlyFull && "meter-high", share >= 1 && "meter-full")}
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={Math.max(max, 1)}
        aria-valuenow={max === 0 ? 1 : Math.min(value, max)}
        aria-valuetext={`${Math.round(share * 100)} %`}
      >
        <div className="meter-bar" style={{ width: `${share * 100}%` }} />
      </div>
    </div>
  )
}
