/** What the API answers about timers. The pages use only its public calls. */
import type { TimerAnswer } from "@punctual/api/GetTimer"
import { memberSpan } from "@punctual/api/JsonSpan"
import type { ListTimersAnswer } from "@punctual/api/ListTimers"
import type { ListNamespacesAnswer } from "@punctual/api/NamespaceSettings"
import type { ServiceAnswer } from "@punctual/api/Service"
import { callForText } from "../kit/serviceCall.ts"

/** A timer as the API shows it: instants are ISO texts. */
export type Timer = (typeof TimerAnswer.Encoded)["timer"]
export type TimerState = Timer["state"]
export type TimerPage = typeof ListTimersAnswer.Encoded
export type NamespacePage = typeof ListNamespacesAnswer.Encoded
export type NamespaceView = NamespacePage["namespaces"][number]
export type ServiceState = typeof ServiceAnswer.Encoded

export interface TimerWithPayload {
  readonly timer: Timer
  /** The payload as the service keeps it, byte for byte. Parsed numbers could lose digits. */
  readonly payloadText: string | undefined
}

export const getTimer = async (
  namespace: string,
  timerId: string,
  signal?: AbortSignal,
): Promise<TimerWithPayload> => {
  const text = await callForText("timers/get", { namespace, timerId }, signal)
  const timer = memberSpan(text, "timer")
  const timerText = timer === undefined ? "" : text.slice(timer.start, timer.end)
  const payload = memberSpan(timerText, "payload")
  return {
    timer: JSON.parse(text).timer,
    payloadText: payload === undefined ? undefined : timerText.slice(payload.start, payload.end),
  }
}
