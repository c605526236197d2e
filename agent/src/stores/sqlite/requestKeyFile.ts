// The key that seals requests, beside the SQLite file: 64 hex digits in `<file>.request-key`, readable by its owner only.
// It is made if it is missing. The file gets its name by a link, which fails if the name exists, so two processes never
// make two keys. Without the file, stored requests cannot be read, so a backup needs it too.
import { randomBytes } from "node:crypto"
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from "node:fs"
import { dirname } from "node:path"

const keyBytes = 32
const ownersFile = 0o600

export const requestKeyFileOf = (storePath: string): string => `${storePath}.request-key`

/** Reads the key, or makes one. Throws an error with one sentence that says what to do. */
export const requestKeyBeside = (storePath: string): Uint8Array => {
  const path = requestKeyFileOf(storePath)
  return readKey(path) ?? makeKey(path)
}

const readKey = (path: string): Uint8Array | undefined => {
  let text: string
  try {
    text = readFileSync(path, "latin1").trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw new Error(`${path} cannot be read (${String(error)}): make it readable for the user of the agent`)
  }
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, "hex")
  throw new Error(`${path} contains no key (it must be one line of 64 hex digits): put the right file there`)
}

const makeKey = (path: string): Uint8Array => {
  mkdirSync(dirname(path), { recursive: true })
  const partial = `${path}.${process.pid}-${randomBytes(4).toString("hex")}`
  try {
    const file = openSync(partial, "wx", ownersFile)
    writeSync(file, `${randomBytes(keyBytes).toString("hex")}\n`)
    fsyncSync(file)
    closeSync(file)
    try {
      linkSync(partial, path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
    }
    const folder = openSync(dirname(path), "r")
    fsyncSync(folder)
    closeSync(folder)
  } finally {
    rmSync(partial, { force: true })
  }
  const made = readKey(path)
  if (made === undefined) throw new Error(`${path} was removed while it was being created`)
  return made
}
