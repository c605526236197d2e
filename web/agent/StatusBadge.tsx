import { Badge, type Tone } from "../kit/Badge.tsx"
import type { CallStatus } from "./agentApi.ts"

export const statusTones: Readonly<Record<CallStatus, Tone>> = {
  Submitted: "neutral",
  Scheduled: "accent",
  Running: "warning",
  Succeeded: "good",
  Failed: "bad",
  Cancelled: "neutral",
}

export const StatusBadge = ({ status }: { readonly status: CallStatus }) => (
  <Badge tone={statusTones[status]}>{status}</Badge>
)
