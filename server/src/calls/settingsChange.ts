// What a change of settings did, for its audit record. Webhook secrets appear only by their fingerprints. The headers
// of onDead and the query of its URL may contain credentials, so they are hidden.
import type { AuditDetails } from "@punctual/api/AuditRecord"
import { PutNamespaceAnswer } from "@punctual/api/NamespaceSettings"
import { ownProgram } from "@punctual/door/Caller"
import { SchemaParser } from "effect"
import type { NamespaceSettings } from "../domain/NamespaceSettings.ts"
import { shownSettings } from "./shownSettings.ts"

type Fields = Readonly<Record<string, unknown>>

/** The fields that differ. A field at its default is absent. */
export const settingsChange = (
  before: NamespaceSettings,
  after: NamespaceSettings,
): Pick<AuditDetails, "before" | "after"> => {
  const [old, current] = [fieldsOf(before), fieldsOf(after)]
  const names = [...new Set([...Object.keys(old), ...Object.keys(current)])].filter(
    (name) => JSON.stringify(old[name]) !== JSON.stringify(current[name]),
  )
  const picked = (fields: Fields): Fields =>
    Object.fromEntries(
      names
        .filter((name) => name in fields)
        .map((name) => [name, name === "onDead" ? hidden(fields[name]) : fields[name]]),
    )
  return { before: picked(old), after: picked(current) }
}

const encode = SchemaParser.encodeUnknownSync(PutNamespaceAnswer.fields.settings)

const fieldsOf = (settings: NamespaceSettings): Fields => ({
  ...encode(shownSettings({ namespace: "", settings, version: 0, updatedAt: 0 }, ownProgram)),
})

const hiddenText = "…"

const hidden = (target: unknown): unknown => {
  if (typeof target !== "object" || target === null) return target
  const { url, headers, ...rest }: { readonly url?: unknown; readonly headers?: unknown } = target
  return {
    ...rest,
    ...(typeof url === "string" ? { url: withoutQuery(url) } : {}),
    ...(typeof headers === "object" && headers !== null
      ? { headers: Object.fromEntries(Object.keys(headers).map((name) => [name, hiddenText])) }
      : {}),
  }
}

const withoutQuery = (text: string): string => {
  const { origin, pathname, search } = new URL(text)
  return `${origin}${pathname}${search === "" ? "" : `?${hiddenText}`}`
}
