// Builds the expressions of DynamoDB. Every name and every value is a placeholder, so that no name can be a reserved
// word, and no value can change the meaning of an expression.
import { type PlainValue, type TaggedValue, tagged } from "./DynamoItem.ts"

export class DynamoExpression {
  readonly #names: Record<string, string> = {}
  readonly #values: Record<string, TaggedValue> = {}
  #count = 0

  name(attribute: string): string {
    this.#names[`#${attribute}`] = attribute
    return `#${attribute}`
  }

  value(value: PlainValue): string {
    const place = `:${this.#count++}`
    this.#values[place] = tagged(value)
    return place
  }

  equals(attribute: string, value: PlainValue | undefined): string {
    return value === undefined ? this.lacks(attribute) : `${this.name(attribute)} = ${this.value(value)}`
  }

  lacks(attribute: string): string {
    return `attribute_not_exists(${this.name(attribute)})`
  }

  has(attribute: string): string {
    return `attribute_exists(${this.name(attribute)})`
  }

  /** The placeholders, for the request. */
  get parameters(): object {
    return {
      ...(Object.keys(this.#names).length === 0 ? {} : { ExpressionAttributeNames: this.#names }),
      ...(this.#count === 0 ? {} : { ExpressionAttributeValues: this.#values }),
    }
  }
}

export type Values = Readonly<Record<string, PlainValue | undefined>>

export interface ItemUpdate {
  readonly set?: Values
  /** Texts such as `#a = if_not_exists(#b, :c)`. */
  readonly setTo?: ReadonlyArray<(expression: DynamoExpression) => string>
  readonly remove?: ReadonlyArray<string>
  readonly add?: Values
}

/** The text of an update. A value that is `undefined` is removed. */
export const updateText = (
  expression: DynamoExpression,
  { set = {}, setTo = [], remove = [], add = {} }: ItemUpdate,
) => {
  const sets = setTo.map((text) => text(expression))
  const removes = remove.map((attribute) => expression.name(attribute))
  for (const [attribute, value] of Object.entries(set)) {
    if (value === undefined) removes.push(expression.name(attribute))
    else sets.push(`${expression.name(attribute)} = ${expression.value(value)}`)
  }
  const adds = Object.entries(add).flatMap(([attribute, value]) =>
    value === undefined ? [] : [`${expression.name(attribute)} ${expression.value(value)}`],
  )
  const parts = [
    ["SET", sets],
    ["REMOVE", removes],
    ["ADD", adds],
  ] as const
  return parts.flatMap(([verb, list]) => (list.length === 0 ? [] : [`${verb} ${list.join(", ")}`])).join(" ")
}
