// The sealing key beside the SQLite file: 64 hex digits in `<file>.secret-key`, the same text that TIMER_SECRET_KEY
// takes. The key file gets its name by a link, which fails if the name exists. So if two processes make a key, one
// succeeds, and the other reads that key. No process can read half a key, because the file is written and synced before
// it gets its name.
import { randomBytes } from "node:crypto"
import { constants } from "node:fs"
import { link, open, rm, stat } from "node:fs/promises"
import { basename, dirname } from "node:path"
import { Effect } from "effect"
import type { AdapterFailure } from "../../ports/Adapter.ts"
import type { MadeSealingKey, SealingKeyFile } from "../../ports/SealingKeyFile.ts"
import { codeOf, describe } from "./failures.ts"

const keyBytes = 32
/** A longer file is not a key file, and is not read to its end. */
const readBytesMax = 1_024
const ownersFile = 0o600

export const keyFileOf = (storePath: string): string => `${storePath}.secret-key`

export const sqliteKeyFile = (storePath: string): SealingKeyFile => {
  const path = keyFileOf(storePath)
  return {
    path,
    read: explained(path, () => readKey(path)),
    make: explained(path, () => makeKey(path)),
    whyUnsafe: Effect.promise(() => whyUnsafe(path)),
  }
}

const explained = <A>(path: string, act: () => Promise<A>): Effect.Effect<A, AdapterFailure> =>
  Effect.tryPromise({
    try: act,
    catch: (error) =>
      error instanceof NoKey
        ? { message: `${path} contains no key (it must be one line of 64 hex digits): ${remedy}` }
        : { message: `${path} cannot be read or created (${describe(error)}): ${remedy}` },
  })

const remedy =
  "put the right file there, readable by the user of the service, or set TIMER_SECRET_KEY to the key. If the key is lost, reset the secrets (punctual namespaces put NAMESPACE --reset webhookSecrets), remove the file, and set new secrets"

class NoKey extends Error {}

const readKey = async (path: string): Promise<Uint8Array | undefined> => {
  // Without O_NONBLOCK, a named pipe in this place would block the start of the service.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined
    throw error
  })
  if (file === undefined) return undefined
  try {
    if (!(await file.stat()).isFile()) throw new NoKey()
    const buffer = Buffer.alloc(readBytesMax)
    const { bytesRead } = await file.read(buffer, 0, readBytesMax, 0)
    const text = buffer.toString("latin1", 0, bytesRead).trim()
    if (!/^[0-9a-f]{64}$/i.test(text)) throw new NoKey()
    return Buffer.from(text, "hex")
  } finally {
    await file.close()
  }
}

/** Root may read every file, so a file of root is safe. */
const whyUnsafe = async (path: string): Promise<string | undefined> => {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) return undefined
  const user = process.getuid?.()
  if (user !== undefined && found.uid !== user && found.uid !== 0)
    return `${path} belongs to another user, who can read and replace the key: run chown on it`
  return (found.mode & 0o077) === 0
    ? undefined
    : `other users of this machine may read or write ${path}, which contains the key that seals webhook secrets: run chmod 600 on it`
}

const makeKey = async (path: string): Promise<MadeSealingKey> => {
  const present = await readKey(path)
  if (present !== undefined) return { key: present, isNew: false }
  const key = randomBytes(keyBytes)
  const partial = `${path}.${process.pid}-${randomBytes(4).toString("hex")}`
  try {
    await writeSynced(partial, `${key.toString("hex")}\n`)
    const isNew = await link(partial, path).then(
      () => true,
      (error: unknown) => {
        if (codeOf(error) === "EEXIST") return false
        throw error
      },
    )
    // Needed even if another process made the file: its name must be on disk before a secret is sealed with the key.
    await syncFolder(dirname(path))
    if (isNew) return { key, isNew }
    const made = await readKey(path)
    if (made === undefined) throw new Error(`${basename(path)} was removed while it was being created`)
    return { key: made, isNew }
  } finally {
    await rm(partial, { force: true })
  }
}

const writeSynced = async (path: string, text: string): Promise<void> => {
  const file = await open(path, "wx", ownersFile)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, "r")
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
