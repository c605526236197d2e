import type { ReactNode } from "react"

export type Tone = "neutral" | "accent" | "good" | "warning" | "bad"

/** A word with a colour. The word alone must be enough. */
export const Badge = ({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) => (
  <span className={`badge badge-${tone}`}>{children}</span>
)
