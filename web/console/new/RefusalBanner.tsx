/** Why the service refused a form, above its fields: in one sentence, and all errors, also those that have no field. */
import { useEffect, useRef } from "react"
import { focusFirstError } from "../../kit/focusFirstError.ts"
import { ApiProblem } from "../../kit/serviceCall.ts"

export interface RefusalBannerProps {
  readonly text: string
  readonly error: unknown
}

const errorsMax = 20

export const RefusalBanner = ({ text, error }: RefusalBannerProps) => {
  const banner = useRef<HTMLDivElement>(null)
  // The reader may be far from what is wrong.
  useEffect(() => {
    banner.current?.scrollIntoView({ block: "nearest" })
    focusFirstError(banner.current?.closest("form"))
  }, [])
  const errors = error instanceof ApiProblem ? error.errors.slice(0, errorsMax) : []
  return (
    <div ref={banner} className="banner banner-bad refusal" role="alert">
      <p>{text}</p>
      {errors.length > 0 && (
        <ul>
          {errors.map(({ pointer, detail }) => (
            <li key={`${pointer} ${detail}`}>
              {pointer !== "" && <code>{pointer.slice(1).replaceAll("/", ".")}</code>} {detail}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
