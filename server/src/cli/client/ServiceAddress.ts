// Which service a command calls, and with which key. Commands pass both on as one value.
import type { ClientKeyRead, ClientKeyWanted } from "../../settings/clientKey.ts"

export interface ServiceAddress {
  readonly url: string
  /** Read for each call, so that a command that runs for long uses a key that was changed meanwhile. */
  readonly readKey: (wanted: Pick<ClientKeyWanted, "url">) => ClientKeyRead | { readonly problem: string }
}

/** The URL for messages, without credentials. */
export const shownUrl = ({ url }: ServiceAddress): string => url.replace(/:\/\/.*@/, "://…@")
