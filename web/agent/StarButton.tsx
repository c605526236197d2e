/** Marks a call as important, or takes the mark away. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { Button } from "../kit/Button.tsx"
import { useMay } from "../kit/self.ts"
import { toast } from "../kit/toasts.tsx"
import { annotateCall, type Call } from "./agentApi.ts"

/** Stars are changed from rows and from the page of a call, and both must show it. */
export const useStar = () => {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: ({ tenantId, serviceCallId, starred }: Call) =>
      annotateCall(tenantId, serviceCallId, { starred: !starred }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["calls-head"] }),
    onError: (error) => toast(error.message, true),
  })
}

export interface StarButtonProps {
  readonly call: Call
  readonly onStar: (call: Call) => void
}

export const StarButton = ({ call, onStar }: StarButtonProps) => {
  const may = useMay()
  return (
    <Button
      className="star"
      look="quiet"
      isSmall
      icon="star"
      aria-pressed={call.starred}
      label={call.starred ? `Remove the star of ${call.name}` : `Star ${call.name}`}
      disabled={!may("calls.write", call.tenantId)}
      onClick={() => onStar(call)}
    />
  )
}
