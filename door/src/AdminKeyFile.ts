/**
 * The file with the administrator's key. It is for containers and other places without a shell: whoever can read the
 * file is an administrator. The service makes the file if it is missing, and reads it again when it changes. The key is
 * not stored anywhere else.
 */
import { constants } from "node:fs"
import { open, stat } from "node:fs/promises"
import { Effect, Schema } from "effect"
import { makeKeyText } from "./KeyText.ts"

/** The message names the file and says what to do. */
export class AdminKeyUnusable extends Schema.TaggedError<AdminKeyUnusable>()("AdminKeyUnusable", {
  message: Schema.String,
}) {}

const form = /^[\x21-\x7e]{32,256}$/
/** A longer file is not a key file, and is not read to its end. */
const readBytesMax = 1_024

export class AdminKeyFile {
  readonly path: string
  #mark = ""

  constructor(path: string) {
    this.path = path
  }

  /** Makes the file if it is missing. Answers the key, and whether the file is new. */
  get readOrMake(): Effect.Effect<{ readonly key: string; readonly isNew: boolean }, AdminKeyUnusable> {
    return Effect.gen({ self: this }, function* () {
      const isNew = yield* this.#attempt(() => this.#make())
      const key = yield* this.read
      return { key, isNew }
    })
  }

  /** The key in the file. */
  get read(): Effect.Effect<string, AdminKeyUnusable> {
    return this.#attempt(async () => {
      this.#mark = await markOf(this.path)
      return readKey(this.path)
    })
  }

  /** Whether the file differs from the one that was read last. */
  get hasChanged(): Effect.Effect<boolean> {
    return Effect.promise(async () => (await markOf(this.path)) !== this.#mark)
  }

  /** Never writes over an existing file. */
  async #make(): Promise<boolean> {
    const file = await open(this.path, "wx", 0o600).catch((error: unknown) => {
      if (codeOf(error) === "EEXIST") return undefined
      throw error
    })
    if (file === undefined) return false
    try {
      await file.writeFile(`${makeKeyText().text}\n`)
      await file.sync()
      return true
    } finally {
      await file.close()
    }
  }

  #attempt<A>(act: () => Promise<A>): Effect.Effect<A, AdminKeyUnusable> {
    return Effect.tryPromise({
      try: act,
      catch: (error) =>
        new AdminKeyUnusable({
          message:
            error instanceof NoKey
              ? `${this.path} contains no key: it must be one line of 32 to 256 visible ASCII characters, such as the output of openssl rand -hex 32`
              : `${this.path} cannot be ${codeOf(error) === "ENOENT" ? "found" : "read or created"} (${codeOf(error)}): put a file with the administrator's key there, readable by the user of the service, or make its folder writable`,
        }),
    })
  }
}

class NoKey extends Error {}

const readKey = async (path: string): Promise<string> => {
  // Without O_NONBLOCK, a named pipe in this place would block the service.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!(await file.stat()).isFile()) throw new NoKey()
    const buffer = Buffer.alloc(readBytesMax)
    const { bytesRead } = await file.read(buffer, 0, readBytesMax, 0)
    const text = buffer.toString("latin1", 0, bytesRead).trim()
    if (bytesRead === readBytesMax || !form.test(text)) throw new NoKey()
    return text
  } finally {
    await file.close()
  }
}

/** Differs if the file was written or replaced. `stat` follows links, which orchestrators replace as a whole. */
const markOf = async (path: string): Promise<string> =>
  stat(path).then(
    ({ ino, size, mtimeMs, ctimeMs }) => `${ino} ${size} ${mtimeMs} ${ctimeMs}`,
    () => "missing",
  )

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "unknown error"
