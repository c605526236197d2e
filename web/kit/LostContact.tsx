/**
 * Says on every page that the service cannot be reached, or that it is starting, and asks until it answers. The page then
 * goes on by itself.
 */
import { useQuery, useQueryClient } from "@tanstack/react-query"
import { useEffect } from "react"
import { useContact } from "./contact.ts"
import { useSelf } from "./self.ts"
import { call, type Self, selfCall } from "./serviceCall.ts"

const againMs = 2_000

export const LostContact = () => {
  const contact = useContact()
  const queries = useQueryClient()
  const isLost = contact === "lost" || contact === "starting"
  const isLoaded = useSelf() !== undefined
  // A page that the reader has paused asks nothing else.
  useQuery({
    queryKey: ["contact"],
    queryFn: ({ signal }) => call<Self>(selfCall, {}, signal),
    enabled: contact !== "answers",
    refetchInterval: againMs,
    retry: false,
  })
  // What could not be loaded in the meantime is loaded now. If only one call fails, loading it again would fail, too.
  useEffect(() => {
    if (!isLost) void queries.refetchQueries({ predicate: ({ state }) => state.status === "error" })
  }, [isLost, queries])
  // A page without any data says it in place of the data.
  if (!isLost || !isLoaded) return null
  return contact === "starting" ? (
    <div className="toast lost-contact">
      The service is starting. The page goes on by itself. What you see may be out of date.
    </div>
  ) : (
    <div className="toast toast-bad lost-contact">
      The service cannot be reached. The page goes on trying. What you see may be out of date.
    </div>
  )
}
