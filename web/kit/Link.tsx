import type { ComponentProps } from "react"
import { followLink } from "./places.ts"

/** A link to a page of the console. */
export const Link = ({ href, ...rest }: ComponentProps<"a"> & { readonly href: string }) => (
  <a href={href} onClick={followLink} {...rest} />
)
