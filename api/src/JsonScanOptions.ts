// What a scan of a JSON body looks for, and the limits that the body must keep (JsonScan.ts).
import type { KeyName } from "./KeyName.ts"

export interface JsonScanOptions {
  /** The members of the body that are arrays of items. */
  readonly items?: ReadonlyArray<KeyName> | undefined
  /** The member with the caller's own JSON, of the body or of each item. It is not counted as a part of its object. */
  readonly payload?: KeyName | undefined
  /** How many arrays and objects may be inside each other. */
  readonly depthMax: number
  /** How many members and elements the whole body may have. */
  readonly valuesMax: number
  /** The same for the body without its items and payload, and for each item without its payload. */
  readonly ownValuesMax: number
  /** How many bytes these parts may have. */
  readonly ownBytesMax: number
}
