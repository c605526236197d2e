// The requests for the credentials of a role: short, bounded, and with errors that show no token.

/** These services are near. If they do not answer soon, they are not there. */
const timeoutMs = 2_000
const mostBytes = 64 * 1024

/** The text of a good answer. `what` names the place in errors. */
export const answerOf = async (what: string, url: string, request: RequestInit): Promise<string> => {
  const answer = await fetch(url, {
    ...request,
    redirect: "error",
    signal: AbortSignal.timeout(timeoutMs),
  }).catch((error: unknown) => {
    const why = error instanceof Error ? error.name : "failed"
    throw new Error(`AWS credentials of ${what} could not be fetched (${why}).`)
  })
  const text = await answer.text()
  if (answer.status !== 200 || text.length > mostBytes)
    throw new Error(
      `AWS credentials of ${what} were refused with status ${answer.status}: check the role and its trust policy.`,
    )
  return text
}

/** Reads the texts of a JSON object by name. A missing one is empty. */
export const jsonIn = (text: string): ((name: string) => string) => {
  const parsed: unknown = (() => {
    try {
      return JSON.parse(text)
    } catch {
      return undefined
    }
  })()
  return (name) => {
    const value = typeof parsed === "object" && parsed !== null ? Reflect.get(parsed, name) : undefined
    return typeof value === "string" ? value : ""
  }
}
