// What a user can do if a service cannot be reached, by the code of the failure.
import { settings, urlName } from "../../settings/Settings.ts"

const whereItIs = `set ${urlName} or --url`
const caFile = settings.tlsCaFile.name

interface Advice {
  readonly scheme: "http:" | "https:"
  readonly code: RegExp
  readonly text: string
}

/** The first one that matches counts. */
const advices: ReadonlyArray<Advice> = [
  {
    // A port with TLS closes a connection that does not begin with TLS.
    scheme: "http:",
    code: /^ECONNRESET$/,
    text: `If it serves https, the URL must begin with https:// (${whereItIs}).`,
  },
  {
    scheme: "https:",
    code: /^EPROTO$/,
    text: `If it serves plain http, the URL must begin with http:// (${whereItIs}).`,
  },
  {
    scheme: "https:",
    code: /ALTNAME/,
    text: `Its certificate is for other names: call it by one of these (${whereItIs}), or give it a certificate for this name.`,
  },
  { scheme: "https:", code: /EXPIRED/, text: "Its certificate has expired: renew it." },
  {
    scheme: "https:",
    code: /DEPTH_ZERO_SELF_SIGNED/,
    text: `Its certificate is self-signed: if it is yours, set ${caFile} to the file of the certificate.`,
  },
  {
    scheme: "https:",
    code: /CERT|VERIFY|ISSUER/,
    text: `If your own authority signed its certificate, set ${caFile} to the file of the authority.`,
  },
]

export const whatHelps = (url: string, code: string): string => {
  const { protocol } = new URL(url)
  const found = advices.find((advice) => advice.scheme === protocol && advice.code.test(code))
  return (
    found?.text ??
    `Is it running? Start it with npm start or punctual serve. If it listens elsewhere, ${whereItIs}.`
  )
}
