// The namespaces that a caller asks for, as a test of names: those in the request, or all that the caller may read.
import { everyNamespace } from "@punctual/api/NamespaceChoices"
import type { Caller } from "@punctual/door/Caller"

/** The caller must be allowed to read the namespaces of the request. */
export const wantedNamespaces = (
  caller: Caller,
  choices: ReadonlyArray<string> | undefined,
): ((namespace: string) => boolean) => {
  if (choices === undefined) return (namespace) => caller.may("timers.read", namespace)
  const names = new Set(choices.filter((choice) => !choice.endsWith(everyNamespace)))
  const prefixes = choices
    .filter((choice) => choice.endsWith(everyNamespace))
    .map((choice) => choice.slice(0, -everyNamespace.length))
  return (namespace) => names.has(namespace) || prefixes.some((prefix) => namespace.startsWith(prefix))
}
