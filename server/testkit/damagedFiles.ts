// The ways in which the file of an SQLite store can be damaged. Each is applied to a real, closed file.
import { readFileSync, writeFileSync } from "node:fs"
import { casesOf } from "./effort.ts"

export interface FileDamage {
  readonly name: string
  /** The bytes of the file after the damage. */
  readonly of: (bytes: Buffer) => Buffer
}

const filled = (name: string, byte: number, from: number, until: number): FileDamage => ({
  name: `${name} overwritten with 0x${byte.toString(16).padStart(2, "0")}`,
  of: (bytes) => bytes.fill(byte, from, until),
})

/** Damage after which nothing can be read any more. The offsets come from SQLite's file format. */
const everyKind: ReadonlyArray<FileDamage> = [
  filled("header", 0x00, 0, 100),
  filled("header", 0xff, 0, 100),
  filled("header", 0x41, 0, 100),
  filled("first page", 0x00, 0, 4_096),
  filled("magic text", 0x00, 0, 16),
  filled("page size", 0xff, 16, 18),
  filled("read version", 0xff, 19, 20),
  filled("payload fractions", 0x00, 21, 24),
  filled("size in pages", 0xff, 28, 32),
  filled("schema format", 0xff, 44, 48),
  filled("text encoding", 0xff, 56, 60),
  filled("schema version", 0x00, 60, 64),
  filled("schema version", 0xff, 60, 64),
  filled("first byte of the schema version", 0x01, 60, 61),
  filled("last byte of the schema version", 0x04, 63, 64),
  filled("application id", 0x00, 68, 72),
  filled("root of the tables", 0xff, 100, 4_096),
  { name: "file cut to 50 bytes", of: (bytes) => bytes.subarray(0, 50) },
  { name: "file cut to its header", of: (bytes) => bytes.subarray(0, 100) },
  { name: "file cut in the middle", of: (bytes) => bytes.subarray(0, bytes.length >> 1) },
]

/** The kinds that the tests try. The fast run tries some of them. */
export const unreadable: ReadonlyArray<FileDamage> = casesOf(everyKind)

/** The file can still be read, but not written. */
export const unwritable = filled("write version", 0xff, 18, 19)

export const damageFile = (path: string, { of }: FileDamage): Buffer => {
  const left = of(readFileSync(path))
  writeFileSync(path, left)
  return left
}
