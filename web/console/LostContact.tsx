/** Says on every page that the service cannot be reached, and asks until it answers. The page then goes on by itself. */
import { useQuery } from "@tanstack/react-query"
import { call, type Self } from "./api.ts"
import { useIsContactLost } from "./contact.ts"
import { useSelf } from "./self.ts"

const againMs = 2_000

export const LostContact = () => {
  const isLost = useIsContactLost()
  const isLoaded = useSelf() !== undefined
  // A page that the reader has paused asks nothing else.
  useQuery({
    queryKey: ["contact"],
    queryFn: ({ signal }) => call<Self>("keys/self", {}, signal),
    enabled: isLost,
    refetchInterval: againMs,
    retry: false,
  })
  // A page without any data says it in place of the data.
  if (!isLost || !isLoaded) return null
  return (
    <div className="toast toast-bad lost-contact">
      The service cannot be reached. The page goes on trying. What you see may be out of date.
    </div>
  )
}
