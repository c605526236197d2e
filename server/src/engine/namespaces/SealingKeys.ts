// Where the keys come from that seal webhook secrets: from the settings, or, if these name none, from a file beside the
// store. The service makes that file when the first secret is set. It reads the file again before it seals a secret, so
// that no secret is sealed under a key that does not open the others. It also reads the file as long as there are
// secrets that no key opens, so that a file that was put back takes effect without a restart.
import { Effect, Schema } from "effect"
import type { SealedSecret } from "../../domain/NamespaceSettings.ts"
import type { Ability } from "../../ports/Adapter.ts"
import type { SealingKeyFile } from "../../ports/SealingKeyFile.ts"
import { SecretSeal } from "./SecretSeal.ts"

/** Why no secret can be stored now, and what to do. */
export class CannotSeal extends Schema.TaggedError<CannotSeal>()("CannotSeal", {
  message: Schema.String,
}) {}

/** A key to seal with is known. `madeFile`: the key was made just now, and is in this file. */
export interface ReadyToSeal {
  readonly madeFile?: string
}

const settingName = "TIMER_SECRET_KEY"

const noFile: Ability<SealingKeyFile> = {
  instead: `Set ${settingName}, the same on all nodes; make a key by: openssl rand -hex 32`,
}

export class SealingKeys {
  readonly seal: SecretSeal
  readonly #isSet: boolean
  readonly #file: Ability<SealingKeyFile>
  /** The file contained a key when it was read or made last. */
  #isLoaded = false
  /** What is wrong with the file, since it was read last. */
  #problem: string | undefined
  /** The reason of the last warning about the file. */
  #warnedOf: string | undefined

  constructor(keys: ReadonlyArray<Uint8Array>, file: Ability<SealingKeyFile> = noFile) {
    this.seal = new SecretSeal(keys)
    this.#isSet = keys.length > 0
    this.#file = file
  }

  /** Reads the file and uses its key, unless the settings name a key. */
  get load(): Effect.Effect<void> {
    const file = this.#file
    if (this.#isSet || !("can" in file)) return Effect.void
    return Effect.flatMap(this.#read(file.can), (key) => {
      if (key === undefined) return Effect.void
      this.seal.use(key)
      return this.#warnIfUnsafe(file.can)
    })
  }

  /**
   * Makes a key if there is none. `closedTo`: the other namespaces that have secrets which this seal does not open. If
   * the key of the file leaves some of them closed, the key in use stays the same.
   */
  ready(
    closedTo: (seal: SecretSeal) => Effect.Effect<ReadonlyArray<string>>,
  ): Effect.Effect<ReadyToSeal, CannotSeal> {
    return Effect.gen({ self: this }, function* () {
      if (this.#isSet) return {}
      const file = this.#file
      if (!("can" in file)) {
        const message = `cannot be kept: this service has no key to seal them with. ${file.instead}`
        return yield* new CannotSeal({ message })
      }
      const key = yield* this.#read(file.can)
      const isInUse = key !== undefined && this.seal.sealsWith(key)
      const closed = yield* closedTo(isInUse ? this.seal : new SecretSeal(key === undefined ? [] : [key]))
      if (closed.length > 0 || this.#problem !== undefined) {
        return yield* new CannotSeal({ message: `cannot be kept: ${this.#whyRefused(closed)}` })
      }
      if (key !== undefined) {
        this.seal.use(key)
        yield* this.#warnIfUnsafe(file.can)
        return {}
      }
      const made = yield* Effect.mapError(
        file.can.make,
        ({ message }) => new CannotSeal({ message: `cannot be kept: ${message}` }),
      )
      this.seal.use(made.key)
      this.#isLoaded = true
      if (!made.isNew) return {}
      yield* Effect.logWarning(
        `made a key that seals webhook secrets, in ${file.can.path}: keep a copy of this file, because backups of the store do not contain it`,
      )
      return { madeFile: file.can.path }
    })
  }

  opens(namespace: string, secret: SealedSecret): boolean {
    return this.seal.open(namespace, secret) !== undefined
  }

  /** Whether this process can find out if there is a key: the settings name one, or there is a place for its file. */
  get isKnowable(): boolean {
    return this.#isSet || "can" in this.#file
  }

  /** The file, if a key was read from it. */
  get loadedFile(): string | undefined {
    return this.#isLoaded && "can" in this.#file ? this.#file.can.path : undefined
  }

  /** Why secrets that are stored cannot be opened, and what to do. */
  whyClosed(): string {
    if (this.#problem !== undefined) return this.#problem
    const file = this.#file
    if (!("can" in file)) return `set ${settingName} to the key that sealed them`
    const { path } = file.can
    if (this.#isSet) {
      return `set ${settingName} to the key that sealed them; if the service made that key itself, it is in ${path}`
    }
    return this.#isLoaded
      ? `the key in ${path} is not the one that sealed them: put the right file there, or set ${settingName}`
      : `${path} is missing, and ${settingName} is not set: put the file back, or set ${settingName} to the key that sealed them`
  }

  /** Answers `undefined` if there is no key in the file, and notes why. */
  #read(file: SealingKeyFile): Effect.Effect<Uint8Array | undefined> {
    return Effect.match(file.read, {
      onFailure: ({ message }) => {
        this.#problem = message
        return undefined
      },
      onSuccess: (key) => {
        this.#problem = undefined
        this.#isLoaded = key !== undefined
        return key
      },
    })
  }

  /** Warns once for each reason. */
  #warnIfUnsafe(file: SealingKeyFile): Effect.Effect<void> {
    return Effect.flatMap(file.whyUnsafe, (why) => {
      if (why === this.#warnedOf) return Effect.void
      this.#warnedOf = why
      return why === undefined ? Effect.void : Effect.logWarning(why)
    })
  }

  #whyRefused(closed: ReadonlyArray<string>): string {
    if (closed.length === 0) return this.whyClosed()
    const names = `${closed.slice(0, 3).join(", ")}${closed.length > 3 ? " and others" : ""}`
    return `other namespaces have secrets under another key (${names}), and no secret is sealed under a key that does not open them. ${this.whyClosed()}. If the key is lost, first reset those secrets (punctual namespaces put NAMESPACE --reset webhookSecrets)`
  }
}
