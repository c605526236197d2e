// Turns an error of an opening into a sentence that names the place and says what to do.
import { lookup } from "node:dns/promises"
import { DatabaseFailure } from "./DatabaseFailure.ts"
import { type DatabaseTarget, inUrl } from "./DatabaseTarget.ts"
import { whyTlsFailed } from "./databaseTls.ts"
import { describeError, driverCodeOf, stateOf } from "./errorCodes.ts"

/** What an error of a driver means for an opening. */
export interface OpeningCause {
  /** The error as text. */
  readonly text: string
  /** What to do, if the server or TLS refused the connection. */
  readonly refused: string | undefined
  readonly isUnreachable: boolean
  /** The server did not answer, so its name may be wrong. */
  readonly isUnanswered: boolean
}

/** The driver reports a host name that cannot be resolved as a refused connection, so the name is looked up. */
export const explainedCause = async (
  { text, refused, isUnreachable, isUnanswered }: OpeningCause,
  { name, host }: Pick<DatabaseTarget, "name" | "host">,
  url: string,
): Promise<DatabaseFailure> => {
  if (refused !== undefined)
    return new DatabaseFailure("refused", `${name} cannot be used (${text}): ${refused}`)
  if (!isUnreachable) return new DatabaseFailure("failed", `${name} cannot be opened: ${text}.`)
  const unresolved = isUnanswered ? await whyUnresolved(host) : undefined
  return new DatabaseFailure(
    "unreachable",
    unresolved === undefined
      ? `${name} cannot be reached (${text}): the server must run, and accept connections from here.`
      : `${name} cannot be reached: the host name ${host} cannot be resolved (${unresolved}). Correct it in ${url}, or check the DNS settings of this machine.`,
  )
}

export const explained = async (error: unknown, target: DatabaseTarget): Promise<DatabaseFailure> => {
  if (error instanceof DatabaseFailure) return error
  const state = stateOf(error)
  const message = error instanceof Error ? error.message : ""
  const failure = { code: driverCodeOf(error), state, message }
  const cause = {
    text: describeError(error),
    refused: whyTlsFailed(failure, target.tls.mode, inUrl(target)) ?? whyRefused(state, target),
    isUnreachable: state === "" || /^(08|57P|53)/.test(state),
    isUnanswered: state === "",
  }
  return explainedCause(cause, target, inUrl(target))
}

/** Says what to do about the refusal. The text names the user, and never a password. */
const whyRefused = (state: string, target: DatabaseTarget): string | undefined => {
  const { user, database, schema } = target
  const who = user === "" ? "the user (the URL names none)" : `the user ${user}`
  if (state === "28P01")
    return `the server refused the password of ${who}: correct user and password in ${inUrl(target)}.`
  if (state.startsWith("28")) {
    return `the server does not let ${who} log in: the user must exist and be allowed to connect (pg_hba.conf). The user is set in ${inUrl(target)}.`
  }
  if (state.startsWith("3D")) {
    return `there is no database ${database}: create it, or name another in ${inUrl(target)}.`
  }
  return state === "42501"
    ? `${who} must own the schema ${schema}, or be allowed to create it. The user is set in ${inUrl(target)}.`
    : undefined
}

const lookupWithinMs = 5_000

/** `undefined` if the name can be resolved, or if the lookup takes too long. */
const whyUnresolved = async (host: string): Promise<string | undefined> => {
  const late = Promise.withResolvers<undefined>()
  const timer = setTimeout(late.resolve, lookupWithinMs)
  const found = lookup(host.replace(/^\[|\]$/g, "")).then(
    () => undefined,
    (error: unknown) => (error instanceof Error && "code" in error ? String(error.code) : String(error)),
  )
  try {
    return await Promise.race([found, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
