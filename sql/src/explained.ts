// Turns an error of an opening into a sentence that names the place and says what to do.
import { lookup } from "node:dns/promises"
import { DatabaseFailure } from "./DatabaseFailure.ts"
import { type DatabaseTarget, inUrl } from "./DatabaseTarget.ts"
import { whyTlsFailed } from "./databaseTls.ts"
import { describeError, driverCodeOf, stateOf } from "./errorCodes.ts"

/** The driver reports a host name that cannot be resolved as a refused connection, so the name is looked up. */
export const explained = async (error: unknown, target: DatabaseTarget): Promise<DatabaseFailure> => {
  if (error instanceof DatabaseFailure) return error
  const { name, host } = target
  const state = stateOf(error)
  const message = error instanceof Error ? error.message : ""
  const refused =
    whyTlsFailed({ code: driverCodeOf(error), state, message }, target.tls.mode, inUrl(target)) ??
    whyRefused(state, target)
  if (refused !== undefined) {
    return new DatabaseFailure("refused", `${name} cannot be used (${describeError(error)}): ${refused}`)
  }
  if (state === "" || /^(08|57P|53)/.test(state)) {
    const unresolved = state === "" ? await whyUnresolved(host) : undefined
    return new DatabaseFailure(
      "unreachable",
      unresolved === undefined
        ? `${name} cannot be reached (${describeError(error)}): the server must run, and accept connections from here.`
        : `${name} cannot be reached: the host name ${host} cannot be resolved (${unresolved}). Correct it in ${inUrl(target)}, or check the DNS settings of this machine.`,
    )
  }
  return new DatabaseFailure("failed", `${name} cannot be opened: ${describeError(error)}.`)
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
export const whyUnresolved = async (host: string): Promise<string | undefined> => {
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
