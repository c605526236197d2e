// Shows schemas as lists of fields: name, type, whether it is required, purpose and limits. Requests show the fields of
// inner objects in place, and the reader can open them. Answers link to objects that several calls share.
import { durationPattern } from "@punctual/api/DurationMs"
import { idPattern } from "@punctual/api/TimerId"
import { visiblePattern } from "@punctual/api/whyNotVisible"
import { escapeHtml, prose } from "./html.ts"
import { type JsonSchema, nameInRef } from "./OpenApiDocument.ts"

type Schemas = Readonly<Record<string, JsonSchema>>

export interface FieldsOptions {
  /** Objects that have their own section. */
  readonly linked: ReadonlySet<string>
  /** Writers of requests must know which fields are required. Readers of answers must know which may be missing. */
  readonly marks: "required" | "optional"
}

export class SchemaFields {
  readonly #schemas: Schemas
  readonly #linked: ReadonlySet<string>
  readonly #marks: FieldsOptions["marks"]

  constructor(schemas: Schemas, { linked, marks }: FieldsOptions) {
    this.#schemas = schemas
    this.#linked = linked
    this.#marks = marks
  }

  /** The fields of an object, with the rules that concern several fields. */
  fieldsOf(schema: JsonSchema): string {
    const { properties = {}, required = [] } = this.#resolve(schema)
    const entries = Object.entries(properties)
    if (entries.length === 0) return `<p class="none">None: the body is <code>{}</code>.</p>`
    const fields = entries.map(([name, field]) => this.#field(name, field, required.includes(name)))
    return `${this.rulesOf(schema)}<ul class="fields">${fields.join("")}</ul>`
  }

  /** Which fields exclude each other. */
  rulesOf(schema: JsonSchema): string {
    const resolved = this.#resolve(schema)
    const rules = [resolved, ...(resolved.allOf ?? [])].flatMap((part) => {
      const one = namesOfChoice(part.oneOf)
      const none = part.not?.required
      return [
        ...(one === undefined ? [] : [`Give exactly one of ${inWords(one)}.`]),
        ...(none === undefined ? [] : [`Give at most one of ${inWords(none)}.`]),
      ]
    })
    return rules.length === 0
      ? ""
      : `<ul class="rules">${rules.map((rule) => `<li>${rule}</li>`).join("")}</ul>`
  }

  /** The type of a value, in words. */
  typeOf(schema: JsonSchema): string {
    const { schema: plain, isNullable } = withoutNull(schema)
    return this.#plainTypeOf(plain) + (isNullable ? " or null" : "")
  }

  #plainTypeOf(schema: JsonSchema): string {
    if (schema.$ref !== undefined) {
      const name = nameInRef(schema.$ref)
      if (this.#linked.has(name)) return `<a href="#schema.${name}">${name}</a>`
      return this.#plainTypeOf(this.#resolve(schema))
    }
    const single = singleOf(schema)
    if (single !== undefined) return this.#plainTypeOf({ ...single, ...schema, allOf: [] })
    if (schema.anyOf !== undefined) {
      return [...new Set(schema.anyOf.map((member) => this.#plainTypeOf(member)))].join(" or ")
    }
    if (schema.items !== undefined) return `array of ${this.#plainTypeOf(schema.items)}`
    if (schema.format === "date-time") return "instant"
    if (schema.pattern === durationPattern) return "duration"
    if (schema.format === "uri") return "URL"
    if (schema.format === "uuid") return "UUID"
    if (typeof schema.additionalProperties === "object") {
      return `map of ${this.#plainTypeOf(schema.additionalProperties)}`
    }
    return schema.type ?? "any JSON"
  }

  #field(name: string, schema: JsonSchema, isRequired: boolean): string {
    const { schema: plain } = withoutNull(schema)
    const resolved = this.#resolve(plain)
    const description = schema.description ?? plain.description ?? resolved.description
    const bounds = this.#boundsOf(plain)
    return (
      `<li><p class="field"><code>${escapeHtml(name)}</code> <span class="type">${this.typeOf(schema)}</span>` +
      `${this.#markOf(isRequired)}</p>` +
      (description === undefined ? "" : `<p>${prose(description)}</p>`) +
      (bounds.length === 0 ? "" : `<p class="bounds">${bounds.join(" · ")}</p>`) +
      `${this.#inner(plain)}</li>`
    )
  }

  #markOf(isRequired: boolean): string {
    if (this.#marks === "required") return isRequired ? ` <span class="required">required</span>` : ""
    return isRequired ? "" : ` <span class="optional">optional</span>`
  }

  /** The fields of an object that has no section, which the reader can open. */
  #inner(schema: JsonSchema): string {
    const { items } = schema
    if (items !== undefined) return this.#inner(items)
    const resolved = this.#resolve(schema)
    if (schema.$ref !== undefined && this.#linked.has(nameInRef(schema.$ref))) return ""
    if (resolved.properties !== undefined) return opened("Fields", this.fieldsOf(resolved))
    const variants = (resolved.anyOf ?? []).filter((member) => !this.#isLinked(member))
    return variants
      .flatMap((variant) => {
        const object = this.#resolve(variant)
        if (object.properties === undefined) return []
        const kind = object.properties["type"]?.enum?.[0]
        if (kind !== undefined && Object.keys(object.properties).length === 1) {
          return [`<p class="bounds"><code>${escapeHtml(String(kind))}</code> has no other fields.</p>`]
        }
        return [opened(kind === undefined ? "Fields" : `Fields of ${String(kind)}`, this.fieldsOf(object))]
      })
      .join("")
  }

  #boundsOf(schema: JsonSchema): ReadonlyArray<string> {
    const plain = { ...singleOf(schema), ...schema }
    const values = plain.enum ?? plain.items?.enum
    const bounds: Array<string> = []
    if (values !== undefined) {
      bounds.push(values.map((value) => `<code>${escapeHtml(String(value))}</code>`).join(" "))
    }
    const length = rangeOf(plain.minLength, plain.maxLength)
    if (length !== undefined) bounds.push(`${length} characters`)
    const items = rangeOf(plain.minItems, plain.maxItems)
    if (items !== undefined) bounds.push(`${items} items`)
    const properties = rangeOf(undefined, plain.maxProperties)
    if (properties !== undefined) bounds.push(`${properties} entries`)
    const range = rangeOf(plain.minimum, plain.maximum)
    if (range !== undefined && range !== "at least 0") bounds.push(range)
    if (plain.pattern !== undefined && plain.format === undefined && !saidInWords.has(plain.pattern)) {
      bounds.push(`<code>${escapeHtml(plain.pattern)}</code>`)
    }
    return bounds
  }

  #isLinked(schema: JsonSchema): boolean {
    return schema.$ref !== undefined && this.#linked.has(nameInRef(schema.$ref))
  }

  #resolve(schema: JsonSchema): JsonSchema {
    return schema.$ref === undefined ? schema : (this.#schemas[nameInRef(schema.$ref)] ?? {})
  }
}

/** Patterns that are not shown, because the type or the description explains them better. */
const saidInWords = new Set([durationPattern, idPattern, visiblePattern])

const opened = (summary: string, content: string): string =>
  `<details><summary>${escapeHtml(summary)}</summary>${content}</details>`

/** A reference with annotations is written as an allOf with one member. */
const singleOf = ({ allOf = [], type }: JsonSchema): JsonSchema | undefined =>
  type === undefined && allOf.length === 1 ? allOf[0] : undefined

const withoutNull = (schema: JsonSchema): { readonly schema: JsonSchema; readonly isNullable: boolean } => {
  const others = schema.anyOf?.filter(({ type }) => type !== "null") ?? []
  if (schema.anyOf === undefined || others.length === schema.anyOf.length)
    return { schema, isNullable: false }
  const [only, ...more] = others
  const rest = more.length === 0 && only !== undefined ? only : { anyOf: others }
  return {
    schema: schema.description === undefined ? rest : { ...rest, description: schema.description },
    isNullable: true,
  }
}

/** The names of a choice between required fields. */
const namesOfChoice = (choice: JsonSchema["oneOf"]): ReadonlyArray<string> | undefined => {
  const names = choice?.map(({ required, properties }) =>
    properties === undefined && required?.length === 1 ? required[0] : undefined,
  )
  return names?.every((name) => name !== undefined) === true ? names : undefined
}

const inWords = (names: ReadonlyArray<string>): string => {
  const codes = names.map((name) => `<code>${escapeHtml(name)}</code>`)
  return `${codes.slice(0, -1).join(", ")} and ${codes.at(-1)}`
}

/** This number is the limit of the runtime, and not a limit of the contract. */
const noBound = Number.MAX_SAFE_INTEGER

const rangeOf = (minimum: number | undefined, maximum: number | undefined): string | undefined => {
  const most = maximum === noBound ? undefined : maximum
  if (minimum !== undefined && most !== undefined) {
    return minimum === most ? number(minimum) : `${number(minimum)} to ${number(most)}`
  }
  if (minimum !== undefined) return `at least ${number(minimum)}`
  return most === undefined ? undefined : `at most ${number(most)}`
}

const number = (value: number): string => value.toLocaleString("en-US")
