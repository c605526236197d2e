/** Says on every page that nothing fires, because that explains what every page shows. */

import { Link } from "../kit/Link.tsx"
import { Moment } from "../kit/Moment.tsx"
import { hrefOf } from "./location.ts"
import { useService } from "./useService.ts"

export const ServiceBanner = () => {
  const pause = useService()?.pause
  if (pause === undefined) return null
  return (
    <p className="banner banner-warning" role="status">
      <span>
        <strong>Nothing fires.</strong>{" "}
        {pause.kind === "restored"
          ? "The store was restored from a backup"
          : `The service is paused${pause.reason === undefined ? "" : `: ${pause.reason}`}`}{" "}
        (<Moment at={pause.since} />
        ).
      </span>
      <Link href={hrefOf("status")}>Status</Link>
    </p>
  )
}
