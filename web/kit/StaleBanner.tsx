/** Says above data that it could not be loaded again. */

import { useContact } from "./contact.ts"
import { ApiProblem } from "./serviceCall.ts"

export const StaleBanner = ({ error }: { readonly error: Error | null }) => {
  const contact = useContact()
  // The frame of the pages says this for all of them.
  if (
    error === null ||
    contact !== "answers" ||
    (error instanceof ApiProblem && error.code === "unreachable")
  )
    return null
  return (
    <p className="banner banner-warning" role="status">
      What you see may be out of date. {error.message}
    </p>
  )
}
