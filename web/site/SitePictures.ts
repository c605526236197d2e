// The pictures that documents show. The site carries only these. Pages state their sizes, so that nothing moves when
// a picture arrives.
import { createHash } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { join, posix } from "node:path"

export interface SitePicture {
  /** On the site. It changes with the content. */
  readonly name: string
  readonly width: number
  readonly height: number
  readonly bytes: Uint8Array
}

export class SitePictures {
  readonly #root: string
  readonly #pictures = new Map<string, SitePicture | undefined>()

  constructor(root: string) {
    this.#root = root
  }

  /** `path` is from the root of the repository. Undefined if there is no such picture. */
  at(path: string): SitePicture | undefined {
    if (!this.#pictures.has(path)) this.#pictures.set(path, this.#read(path))
    return this.#pictures.get(path)
  }

  all(): ReadonlyArray<SitePicture> {
    return [...this.#pictures.values()].filter((picture) => picture !== undefined)
  }

  #read(path: string): SitePicture | undefined {
    const file = join(this.#root, path)
    if (path.startsWith("..") || !existsSync(file)) return undefined
    const bytes = readFileSync(file)
    const size = sizeOf(bytes, path)
    if (size === undefined) return undefined
    const { name, ext } = posix.parse(path)
    const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 8)
    return { name: `pictures/${name}-${hash}${ext}`, ...size, bytes }
  }
}

const sizeOf = (
  bytes: Buffer,
  path: string,
): { readonly width: number; readonly height: number } | undefined => {
  if (path.endsWith(".png")) return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
  if (!path.endsWith(".svg")) return undefined
  const [, width, height] = /<svg[^>]*\bviewBox="0 0 ([\d.]+) ([\d.]+)"/.exec(bytes.toString("utf8")) ?? []
  return width === undefined
    ? undefined
    : { width: Math.round(Number(width)), height: Math.round(Number(height)) }
}
