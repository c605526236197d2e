import { classes } from "./classes.ts"

export interface ProgressProps {
  readonly label: string
  readonly value: number
  readonly max: number
  readonly tone?: "accent" | "good" | "warning" | "bad" | "neutral"
}

/** How far something is. The text beside it must say it too. */
export const Progress = ({ label, value, max, tone = "accent" }: ProgressProps) => (
  <progress
    className={classes("progress", `progress-${tone}`)}
    aria-label={label}
    value={Math.min(value, max)}
    max={Math.max(1, max)}
  />
)
