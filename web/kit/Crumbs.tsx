/** The way to a page below another: the pages above it, each as a link. */
import { Fragment } from "react"
import { Link } from "./Link.tsx"

export interface CrumbsProps {
  /** From the top. The page itself is its heading. */
  readonly above: ReadonlyArray<{ readonly name: string; readonly href: string }>
}

export const Crumbs = ({ above }: CrumbsProps) => (
  <nav className="crumbs" aria-label="Path">
    {above.map(({ name, href }, place) => (
      <Fragment key={href}>
        {place > 0 && (
          <span className="muted" aria-hidden="true">
            /
          </span>
        )}
        <Link href={href}>{name}</Link>
      </Fragment>
    ))}
  </nav>
)
