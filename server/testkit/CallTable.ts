// Every call of the contract that needs a key, with every kind of key: who must be let in, and what the refusal says. The
// calls and their bodies come from the contract, so a new call is covered without an edit here. Tests present the keys in
// a header, as a session or by a command, to one node or to several.
import type { Action } from "@punctual/api/CallTerms"
import { contractEndpoints } from "@punctual/api/contractEndpoints"
import { defaultLimits } from "@punctual/api/Limits"
import { idOfKey, makeKeyText } from "@punctual/door/KeyText"
import { eventually } from "./eventually.ts"

export const keyKinds = [
  "none",
  "wrong",
  "expired",
  "revoked",
  "otherNamespace",
  "missingAction",
  "right",
] as const
export type KeyKind = (typeof keyKinds)[number]

/** How a caller presents a key: in a header, or with the cookie of a session that the key began. */
export type KeyWay = "header" | "session"

export interface TableCall {
  /** Below /api/v1. */
  readonly path: string
  /** The actions that its caller needs. */
  readonly needs: ReadonlyArray<Action>
  /** The example of the contract. Where it names a key or a job, it names one that exists. */
  readonly body: unknown
}

/** What a caller is told. `letIn`: the door did not refuse the call. */
export type DoorVerdict = "letIn" | "none" | "wrong" | "expired" | "revoked" | `needs ${Action}`

export interface TableAnswer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: an answer can be any JSON, and each test says what it expects.
  readonly json: any
}

export interface CallTableOptions {
  readonly url: string
  /** The clock of the service is manual. Otherwise the table waits until a key has expired. */
  readonly hasManualClock: boolean
}

interface EndedKey {
  readonly text: string
  /** The cookie of a session that began while the key worked. */
  readonly cookie: string
}

interface TableKeys {
  readonly admin: string
  readonly expired: EndedKey
  readonly revoked: EndedKey
  readonly other: string
  /** A cookie that names the administrator's key and has the signature of another session. */
  readonly forgedCookie: string
}

const endpoints = contractEndpoints(defaultLimits).map((endpoint) => ({
  ...endpoint,
  path: endpoint.path.replace("/api/v1/", ""),
}))
const withKey = endpoints.filter(({ needsNoKey }) => needsNoKey !== true)

/** The calls that are answered without a key. */
export const callsWithoutKey: ReadonlyArray<string> = endpoints
  .filter(({ needsNoKey }) => needsNoKey === true)
  .map(({ path }) => path)

const actionsOfCalls = [...new Set(withKey.flatMap(({ action }) => (action === "none" ? [] : [action])))]

/** Calls that check the rights of their caller themselves, and what the body of the example needs. */
const checksItself: Readonly<Record<string, ReadonlyArray<Action>>> = {
  "keys/self": [],
  "bulk/start": ["timers.read", "dead.replay"],
  "bulk/abort": ["timers.read", "dead.replay"],
}

/** Calls that answer keys of every namespace: they concern no namespace, or show only what is in those of the key. */
const answersEveryNamespace: ReadonlySet<string> = new Set([
  "egress/check",
  "namespaces/list",
  "timers/activity",
  "bulk/get",
  "bulk/list",
  "bulk/abort",
])

/** Nothing that a key of other namespaces is shown may contain this name. */
export const tableNamespace = "billing"

/** Time to begin a session with a key that expires. A slow machine needs more of it, and a manual clock does not wait. */
const lifeMs = 15_000

export class CallTable {
  readonly calls: ReadonlyArray<TableCall>
  readonly adminKey: string
  readonly #url: string
  readonly #keys: TableKeys
  readonly #byRights = new Map<string, string>()
  /** A node that knows this key knows all keys of the table, because it reads them in their order. */
  newestKey: string

  private constructor(url: string, calls: ReadonlyArray<TableCall>, keys: TableKeys) {
    this.#url = url
    this.#keys = keys
    this.adminKey = keys.admin
    this.newestKey = keys.admin
    this.calls = calls
  }

  /** Makes all keys, the first one included, on a service that has had none. */
  static async over({ url, hasManualClock }: CallTableOptions): Promise<CallTable> {
    const admin = await makeKey(url, undefined, { role: "admin" })
    const ask = async (path: string, body: unknown) => {
      const answer = await post(url, path, body, bearer(admin))
      if (answer.status !== 200) throw new Error(`${path}: ${JSON.stringify(answer.json)}`)
      return answer.json
    }
    const ending = async (more: object): Promise<EndedKey> => {
      const text = await makeKey(url, admin, { role: "admin", ...more })
      return { text, cookie: await cookieOf(url, text) }
    }
    const { now } = await ask("service/get", {})
    const expired = await ending({ expiresAt: new Date(Date.parse(now) + lifeMs).toISOString() })
    const revoked = await ending({})
    await ask("keys/revoke", { id: idOfKey(revoked.text) })
    const other = await makeKey(url, admin, { role: "admin", namespaces: ["other"] })
    const forgedCookie = forgedFrom(await cookieOf(url, admin), await cookieOf(url, other))
    const named = await makeKey(url, admin, { actions: ["keys.manage"] })
    const examples = examplesIn(await documentOf(url))
    // There is a timer, a namespace and a job to see and to change.
    await ask("timers/create", examples.get("timers/create"))
    const { job } = await ask("bulk/start", examples.get("bulk/start"))
    const calls = callsWith(examples, { keys: { id: idOfKey(named) }, bulk: { jobId: job.jobId } })
    const table = new CallTable(url, calls, { admin, expired, revoked, other, forgedCookie })
    for (const { needs } of calls) {
      await table.keyOf("missingAction", needs)
      await table.keyOf("right", needs)
    }
    if (hasManualClock) await ask("clock/advance", { by: `${lifeMs}ms` })
    await eventually("the key has expired", async () =>
      (await post(url, "keys/self", {}, bearer(expired.text))).status === 401 ? true : undefined,
    )
    return table
  }

  /** The text of the key of this kind; `undefined` for none. */
  keyOf(kind: KeyKind, needs: ReadonlyArray<Action>): Promise<string> | string | undefined {
    if (kind === "none") return undefined
    if (kind === "wrong") return makeKeyText().text
    if (kind === "expired" || kind === "revoked") return this.#keys[kind].text
    if (kind === "otherNamespace") return this.#keys.other
    if (needs.length === 0) return this.keyWith(actionsOfCalls.slice(0, 1))
    return this.keyWith(kind === "right" ? needs : actionsOfCalls.filter((one) => one !== needs.at(-1)))
  }

  /** The key that may do exactly this. If there is none yet, it is made. */
  async keyWith(actions: ReadonlyArray<Action>): Promise<string> {
    const name = actions.toSorted().join()
    const known = this.#byRights.get(name)
    if (known !== undefined) return known
    this.newestKey = await makeKey(this.#url, this.adminKey, { actions })
    this.#byRights.set(name, this.newestKey)
    return this.newestKey
  }

  /** Sends a call with a key of this kind to a node. */
  async send(kind: KeyKind, call: TableCall, way: KeyWay, url = this.#url): Promise<TableAnswer> {
    const { cookie, ...headers } = await this.#headers(kind, call, way)
    if (cookie === undefined) return post(url, call.path, call.body, headers)
    // The name of the cookie has the port. Nodes of a cluster usually have the same port, but not on one machine.
    const named = url === this.#url ? cookie : cookie.replace(/_\d+=/, `_${new URL(url).port}=`)
    return post(url, call.path, call.body, { ...headers, cookie: named })
  }

  /** What refused calls must not change, by what an administrator sees. */
  async state(): Promise<
    Readonly<Record<"pending" | "namespaces" | "pause" | "keys" | "jobs" | "audit", unknown>>
  > {
    const ask = async (path: string, body: unknown) =>
      (await post(this.#url, path, body, bearer(this.adminKey))).json
    const { keys } = await ask("keys/list", {})
    return {
      pending: await ask("timers/list", { namespaces: ["*"] }),
      namespaces: (await ask("namespaces/list", {})).namespaces,
      pause: (await ask("service/get", {})).pause,
      keys: keys.map(({ lastUsedAt: _, ...key }: Readonly<Record<string, unknown>>) => key),
      jobs: await ask("bulk/list", {}),
      audit: await ask("audit/list", {}),
    }
  }

  async #headers(
    kind: KeyKind,
    { needs }: TableCall,
    way: KeyWay,
  ): Promise<Readonly<Record<string, string>>> {
    const text = await this.keyOf(kind, needs)
    if (text === undefined) return {}
    if (way === "header") return bearer(text)
    const cookie = () => {
      if (kind === "wrong") return this.#keys.forgedCookie
      if (kind === "expired" || kind === "revoked") return this.#keys[kind].cookie
      return cookieOf(this.#url, text)
    }
    return { cookie: await cookie(), "sec-fetch-site": "same-origin" }
  }
}

/** What a caller of this kind must be told. */
export const expectedVerdict = (
  kind: KeyKind,
  { path, needs }: Pick<TableCall, "path" | "needs">,
): DoorVerdict => {
  if (kind === "none" || kind === "wrong" || kind === "expired" || kind === "revoked") return kind
  const needed = kind === "otherNamespace" ? needs[0] : needs.at(-1)
  if (kind === "right" || needed === undefined) return "letIn"
  return kind === "otherNamespace" && answersEveryNamespace.has(path) ? "letIn" : `needs ${needed}`
}

/** What an answer told its caller. A call about many timers answers each of them by itself. */
export const verdictOf = ({ json }: Pick<TableAnswer, "json">): DoorVerdict => {
  const { code, detail } = json.results?.[0]?.problem ?? json
  return code === "unauthorized" || code === "forbidden" ? verdictIn(detail) : "letIn"
}

/** The same for the sentence of a refusal. */
export const verdictIn = (detail: string): DoorVerdict => {
  const needed = /The key needs the action (\S+?)[. ](?:\s|in|for|$)/.exec(detail)?.[1]
  if (needed !== undefined) return `needs ${needed as Action}`
  const told = sentences.find(([, words]) => detail.includes(words))
  if (told === undefined) throw new Error(`a refusal of the door for an unknown reason: ${detail}`)
  return told[0]
}

const sentences: ReadonlyArray<readonly [DoorVerdict, string]> = [
  ["none", "needs a key"],
  ["wrong", "The key is not valid."],
  ["expired", "The key has expired."],
  ["revoked", "The key has been revoked."],
  // The call itself looks at the rights of the other key, so the door has let it in.
  ["letIn", "keys whose rights are within its own rights"],
]

const bearer = (text: string) => ({ authorization: `Bearer ${text}` })

const post = async (
  url: string,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<TableAnswer> => {
  const response = await fetch(`${url}/api/v1/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  })
  return { status: response.status, headers: response.headers, json: await response.json() }
}

const makeKey = async (url: string, by: string | undefined, rights: object): Promise<string> => {
  const body = { label: "of the table", ...rights }
  const { json } = await post(url, "keys/create", body, by === undefined ? {} : bearer(by))
  if (json.apiKey === undefined) throw new Error(`no key was made: ${JSON.stringify(json)}`)
  return json.apiKey
}

const cookieOf = async (url: string, apiKey: string): Promise<string> => {
  const { headers, json } = await post(url, "sessions/create", { apiKey })
  const cookie = headers.get("set-cookie")?.split(";")[0]
  if (cookie === undefined) throw new Error(`no session began: ${JSON.stringify(json)}`)
  return cookie
}

/** The name of the powerful key with the end and the signature of the other session. */
const forgedFrom = (powerful: string, other: string): string => {
  const [name] = powerful.split(".")
  return [name, ...other.split(".").slice(1)].join(".")
}

const documentOf = async (url: string) => {
  const response = await fetch(`${url}/openapi.json`)
  // biome-ignore lint/suspicious/noExplicitAny: the document is read by paths that every operation has.
  return (await response.json()) as any
}

const examplesIn = (document: Awaited<ReturnType<typeof documentOf>>): ReadonlyMap<string, object> =>
  new Map(
    withKey.map(({ path }) => {
      const { example } = document.paths[`/api/v1/${path}`].post.requestBody.content["application/json"]
      if (example === undefined) throw new Error(`the body of ${path} has no example`)
      return [path, example]
    }),
  )

/** `existing`: the ids of things that exist, by group. They take the place of the ids in the examples. */
const callsWith = (
  examples: ReadonlyMap<string, object>,
  existing: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
): ReadonlyArray<TableCall> =>
  withKey.map(({ path, action, group }) => {
    const needs = action === "none" ? checksItself[path] : [action]
    if (needs === undefined) throw new Error(`${path} declares no action: say in checksItself what it needs`)
    const example = examples.get(path) ?? {}
    const ids = Object.entries(existing[group] ?? {}).filter(([name]) => Object.hasOwn(example, name))
    return { path, needs, body: { ...example, ...Object.fromEntries(ids) } }
  })
