/**
 * Notices when the files of a certificate change. It reads them again and again instead of watching them, because files
 * are replaced in many ways (a new file under the old name, another target of a symbolic link, another folder), and few
 * of them are reported by every file system.
 */
import { readTlsTexts, type TlsPair, type TlsPairFiles, type TlsProblem, tlsPairOf } from "./TlsPair.ts"

export type TlsChange =
  | "none"
  | { readonly pair: TlsPair }
  /** The files are wrong, so the old certificate should stay. */
  | TlsProblem

export class TlsWatch {
  readonly #files: TlsPairFiles
  /** The content at the last look. */
  #seen: string
  /** The problem of the last look, if nobody was told about it yet. */
  #doubt: string | undefined

  constructor(files: TlsPairFiles, { cert, key }: Pick<TlsPair, "cert" | "key">) {
    this.#files = files
    this.#seen = textOf(cert, key)
  }

  /**
   * The two files are not replaced in one instant, so a look may find a new certificate with an old key. A problem
   * counts when the next look finds the same content.
   */
  async look(): Promise<TlsChange> {
    const read = await readTlsTexts(this.#files)
    const seen = "problem" in read ? read.problem : textOf(read.cert, read.key)
    if (seen === this.#seen && seen !== this.#doubt) return "none"
    const found = "problem" in read ? read : tlsPairOf(read.cert, read.key)
    const isDoubted = seen === this.#doubt
    this.#seen = seen
    this.#doubt = undefined
    if (!("problem" in found)) return { pair: found }
    if (isDoubted) return found
    this.#doubt = seen
    return "none"
  }
}

const textOf = (cert: string, key: string): string => `${cert}\n${key}`
