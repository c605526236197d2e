// Items of DynamoDB as plain objects: texts, numbers and bytes. The protocol tags each value with its type, and sends
// numbers as text and bytes in base64.

export type PlainValue = string | number | Uint8Array
export type DynamoItem = Readonly<Record<string, PlainValue>>

export type TaggedValue = { readonly S: string } | { readonly N: string } | { readonly B: string }
export type TaggedItem = Readonly<Record<string, TaggedValue>>

export const tagged = (value: PlainValue): TaggedValue => {
  if (typeof value === "string") return { S: value }
  if (typeof value === "number") return { N: String(value) }
  return { B: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64") }
}

export const taggedItem = (item: Readonly<Record<string, PlainValue | undefined>>): TaggedItem => {
  const result: Record<string, TaggedValue> = {}
  for (const name in item) {
    const value = item[name]
    if (value !== undefined) result[name] = tagged(value)
  }
  return result
}

/** Values of other types, which Punctual never writes, are left out. */
export const plainItem = (item: TaggedItem): DynamoItem => {
  const result: Record<string, PlainValue> = {}
  for (const name in item) {
    const value = item[name]
    if (value === undefined) continue
    if ("S" in value) result[name] = value.S
    else if ("N" in value) result[name] = Number(value.N)
    else if ("B" in value) result[name] = new Uint8Array(Buffer.from(value.B, "base64"))
  }
  return result
}

/** The size of an item as DynamoDB counts it, or a little more. */
export const itemSize = (item: Readonly<Record<string, PlainValue | undefined>>): number => {
  let bytes = 0
  for (const name in item) {
    const value = item[name]
    if (value === undefined) continue
    bytes += name.length
    if (typeof value === "string") bytes += Buffer.byteLength(value)
    else bytes += typeof value === "number" ? 12 : value.byteLength
  }
  return bytes
}
