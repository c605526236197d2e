/**
 * A call of the API as a command for a shell: for curl, and for the command line of Punctual. The programs for the client
 * libraries are in the files beside this one. The values of a call may be anything that a caller once chose, so every word is quoted. The texts never
 * contain a key: with keys in force they read it from the variable that the command line reads too.
 */
import { shellWord } from "../../kit/shellWord.ts"

/** The fields of a request, each with its JSON text. So numbers keep all their digits. */
export type Members = ReadonlyMap<string, string>

export interface CallToCopy {
  /** Such as `timers/create`. */
  readonly path: string
  readonly members: Members
}

export interface ServiceToCall {
  readonly url: string
  readonly needsKey: boolean
}

export const keyVariable = "TIMER_API_KEY"

/** The fields of an object that has nothing whose text matters. */
export const membersOfObject = (body: object): Members =>
  new Map(Object.entries(body).map(([name, value]) => [name, JSON.stringify(value)]))

/** One field on each line, as it is shown, copied and sent. */
export const requestText = (members: Members): string => {
  const lines = [...members].map(([name, text]) => `  ${JSON.stringify(name)}: ${text}`)
  return lines.length === 0 ? "{}" : `{\n${lines.join(",\n")}\n}`
}

export const curlText = ({ path, members }: CallToCopy, { url, needsKey }: ServiceToCall): string =>
  [
    `curl -s ${shellWord(`${url}/api/v1/${path}`)}`,
    "-H 'content-type: application/json'",
    ...(needsKey ? [`-H "authorization: Bearer $${keyVariable}"`] : []),
    `--data-raw ${shellWord(requestText(members))}`,
  ].join(" \\\n  ")

/** `undefined` if there is no command for the call. */
export const commandText = (
  { path, members }: CallToCopy,
  { url, needsKey }: ServiceToCall,
): string | undefined => {
  const command = commands[path]
  if (command === undefined) return undefined
  const places = command.places.flatMap((name) => textsOf(members.get(name)))
  const flags = [...members].flatMap(([name, text]) => {
    if (command.places.includes(name)) return []
    if (text === "null") return [`--reset ${name}`]
    const flag = flagNames[name] ?? name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    return textsOf(text, jsonFields.has(name)).map((value) => flagText(flag, value))
  })
  const isOption = places.some((place) => place.startsWith("-"))
  const quoted = places.map(shellWord).join(" ")
  const lines = [
    isOption ? `punctual ${command.words}` : `punctual ${command.words} ${quoted}`,
    ...flags,
    flagText("url", url),
    // Words after `--` are never options.
    ...(isOption ? [`-- ${quoted}`] : []),
  ].join(" \\\n  ")
  return needsKey ? `# The command reads the key from ${keyVariable}.\n${lines}` : lines
}

interface Command {
  readonly words: string
  /** The fields that are no flags, in their order. */
  readonly places: ReadonlyArray<string>
}

const ofTimer = ["namespace", "timerId"]

const commands: Readonly<Record<string, Command>> = {
  "timers/create": { words: "timers create", places: ofTimer },
  "timers/update": { words: "timers update", places: ofTimer },
  "timers/get": { words: "timers get", places: ofTimer },
  "timers/delete": { words: "timers cancel", places: ofTimer },
}

const flagNames: Readonly<Record<string, string>> = {
  executeAt: "at",
  callbackUrl: "to",
  retryPolicy: "retry",
  tags: "tag",
}

/** Their flags take JSON. The others take the text itself. */
const jsonFields: ReadonlySet<string> = new Set(["target", "payload", "retryPolicy", "onDead"])

/** The words of a field: one for each element of a list. */
const textsOf = (text: string | undefined, isJson = false): ReadonlyArray<string> => {
  if (text === undefined) return []
  if (isJson) return [text]
  const value: unknown = JSON.parse(text)
  return Array.isArray(value) ? value.map(String) : [String(value)]
}

const flagText = (flag: string, value: string): string =>
  value.startsWith("-") ? `--${flag}=${shellWord(value)}` : `--${flag} ${shellWord(value)}`
