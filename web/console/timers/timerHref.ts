import type { Timer } from "../api.ts"
import { hrefOf } from "../location.ts"

/** The address of the page of a timer. */
export const timerHref = ({ namespace, timerId }: Pick<Timer, "namespace" | "timerId">): string =>
  hrefOf("timer", { namespace, id: timerId })
