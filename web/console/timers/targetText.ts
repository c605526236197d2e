import type { Timer } from "../api.ts"

/** Where a timer goes, in a few characters. */
export const targetText = ({ target }: Pick<Timer, "target">): string => {
  if (target.type !== "webhook") return target.type
  try {
    return new URL(target.url).host
  } catch {
    return target.url
  }
}
