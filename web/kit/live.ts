/** One switch for everything that changes by itself. While it is off, the page shows what it showed when it was switched. */
import { Setting, useSetting } from "./Setting.ts"

export const liveSetting = new Setting<boolean>(
  "live",
  true,
  (value): value is boolean => typeof value === "boolean",
)

const everyMs = 5_000

/** For a query: how often it asks again, or never while the reader pauses. A hidden page does not ask. */
export const useLiveInterval = (ms = everyMs): number | false => (useSetting(liveSetting) ? ms : false)
