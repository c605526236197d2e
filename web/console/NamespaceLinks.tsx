import { Link } from "../kit/Link.tsx"
import { namespaceHref } from "./namespaces/hrefs.ts"

/** The names of namespaces, with commas between them. Each leads to its page. */
export const NamespaceLinks = ({ names }: { readonly names: ReadonlyArray<string> }) =>
  names.map((name, index) => (
    <span key={name}>
      {index > 0 && ", "}
      <Link href={namespaceHref(name)}>{name}</Link>
    </span>
  ))
