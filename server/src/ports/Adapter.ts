// How every adapter of a database or a broker describes itself. Settings, help, messages and the choice of layers are
// built from lists of adapters (stores/all.ts, buses/all.ts). So a new adapter needs only its folder and one line in
// its list. The URL decides: the first adapter with a matching scheme parses the URL.
import { orOf } from "@punctual/api/orOf"
import { withoutCredentials } from "@punctual/api/withoutCredentials"
import type { Effect, Scope } from "effect"

/** A failure text for people: what is wrong, where, and what to do. */
export interface AdapterFailure {
  readonly message: string
}

export type Opened<A, E = AdapterFailure> = Effect.Effect<A, E, Scope.Scope>

/**
 * Either a value, or what is wrong and how to fix it. The text continues a sentence that begins with the name of a
 * setting: "must name a file".
 */
export type Parsed<A> = { readonly value: A } | Wrong

export interface Wrong {
  readonly problem: string
  /** The value that was probably meant. It may contain a part of the wrong value. */
  readonly guess?: string
  /** The problem is not a part of a sentence. It consists of whole sentences, and shows the wrong part itself. */
  readonly isWhole?: boolean
}

/** Something that an adapter can do, or a sentence that says what to use instead. */
export type Ability<A> = { readonly can: A } | { readonly instead: string }

export interface Adapter<Choice> {
  /** One word for messages and reports, such as `sqlite`. It is unique in the list. */
  readonly name: string
  /** How its URLs begin, such as `sqlite:` or `postgres://`. */
  readonly schemes: ReadonlyArray<string>
  /** The forms of its URLs, each with a short description, for help and messages. */
  readonly forms: Readonly<Record<string, string>>
  /** The folder in drivers/ with the packages that it needs. They are installed before the adapter opens anything. */
  readonly driver?: string
  /** The URL begins with one of the schemes. A problem never quotes the URL, which may contain a password. */
  parse(url: string): Parsed<Choice>
  /** The URL that a text without a known scheme probably means. If there is one, messages may show the text. */
  meant?(text: string): string | undefined
  /**
   * The URL for logs and messages, without anything that may be a password. Also works for a URL that cannot be parsed.
   */
  shown(url: string): string
}

export const parseUrl = <Choice>(adapters: ReadonlyArray<Adapter<Choice>>, url: string): Parsed<Choice> =>
  adapterOf(adapters, url)?.parse(url) ?? unknownScheme(adapters, url)

export const urlShown = (adapters: ReadonlyArray<Adapter<unknown>>, url: string): string =>
  adapterOf(adapters, url)?.shown(url) ?? (meantOf(adapters, url) === undefined ? shownOfUnknown(url) : url)

/** A text without a scheme may be a key or a password that belongs to another setting. */
const shownOfUnknown = (url: string): string => (url.includes("://") ? withoutCredentials(url) : "…")

const unknownScheme = (adapters: ReadonlyArray<Adapter<unknown>>, url: string): Wrong => {
  const guess = meantOf(adapters, url)
  return { problem: `must be ${formsOf(adapters)}`, ...(guess === undefined ? {} : { guess }) }
}

const meantOf = (adapters: ReadonlyArray<Adapter<unknown>>, url: string): string | undefined =>
  adapters.map((adapter) => adapter.meant?.(url)).find((meant) => meant !== undefined)

/** The forms as a message lists them: `sqlite:<file>, memory: or postgres://…`. */
export const formsOf = (adapters: ReadonlyArray<Pick<Adapter<unknown>, "forms">>): string =>
  orOf(adapters.flatMap(({ forms }) => Object.keys(forms)))

/** The forms as help lists them, one per line. */
export const formLines = (adapters: ReadonlyArray<Adapter<unknown>>): string => {
  const forms = adapters.flatMap(({ forms }) => Object.entries(forms))
  const width = Math.max(0, ...forms.map(([form]) => form.length))
  return forms.map(([form, use]) => `${form.padEnd(width)}  ${use}`).join("\n")
}

const adapterOf = <A extends Pick<Adapter<unknown>, "schemes">>(
  adapters: ReadonlyArray<A>,
  url: string,
): A | undefined => adapters.find(({ schemes }) => schemes.some((scheme) => url.startsWith(scheme)))
