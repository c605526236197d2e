// The ids of a call for log lines. They never contain the payload.
import type { Asked } from "../calls/Call.ts"

export const callIds = (call: Asked<unknown> | undefined): { requestId?: string; correlationId?: string } => {
  const { body, requestId } = call ?? {}
  return {
    ...(requestId === undefined ? {} : { requestId }),
    ...(typeof body === "object" &&
    body !== null &&
    "correlationId" in body &&
    typeof body.correlationId === "string"
      ? { correlationId: body.correlationId }
      : {}),
  }
}
