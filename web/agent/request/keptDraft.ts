/** Keeps what the reader has typed while the page is loaded again. Each tab has its own draft, and secrets are left out. */
import { emptyDraft, isRequestDraft, type RequestDraft, withoutSecrets } from "./requestDraft.ts"

const keyOf = (tenant: string): string => `punctual.agent.draft.${tenant}`

export const keptDraft = (tenant: string): RequestDraft => {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(keyOf(tenant)) ?? "null")
    return isRequestDraft(kept) ? kept : emptyDraft
  } catch {
    return emptyDraft
  }
}

export const keepDraft = (tenant: string, draft: RequestDraft): void => {
  try {
    sessionStorage.setItem(keyOf(tenant), JSON.stringify(withoutSecrets(draft)))
  } catch {
    // The browser keeps nothing for this site, or the body is too large. The draft stays in the page.
  }
}
