export interface CappedCount {
  readonly count: number
  readonly capped: boolean
}

/** `10,000+`: the service stopped counting, and there may be more. */
export const countText = ({ count, capped }: CappedCount): string =>
  `${count.toLocaleString("en")}${capped ? "+" : ""}`
