// The key that seals webhook secrets, in a file beside a store that one service at a time works on. It is for a service
// whose settings name no key. Laws: a key that `make` answers is on the disk, in a file that only its owner may read;
// a file that is there is never replaced, not even if two processes make a key at the same time; a file that cannot be
// read, or that holds no key, is a failure that names the file and says what to do.
import type { Effect } from "effect"
import type { AdapterFailure } from "./Adapter.ts"

export interface MadeSealingKey {
  readonly key: Uint8Array
  /** The file was not there before. */
  readonly isNew: boolean
}

export interface SealingKeyFile {
  /** Where the file is, or would be. */
  readonly path: string
  /** The key in the file; undefined if there is no file. */
  readonly read: Effect.Effect<Uint8Array | undefined, AdapterFailure>
  /** Why the file is not safe: other users of the machine can read it, or own it. Undefined if it is safe or missing. */
  readonly whyUnsafe: Effect.Effect<string | undefined>
  /** The key in the file, which is made if it is missing. */
  readonly make: Effect.Effect<MadeSealingKey, AdapterFailure>
}
