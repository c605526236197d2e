// The built pages of a product, or of the documentation, as one file: web/build.ts writes it, and the program's entry
// reads it. It begins with a line of JSON that lists the files. Their bytes follow. Text is compressed, because browsers
// take it so, and the rest of the program need not spend time on it.

export interface PageFile {
  readonly contentType: string
  /** Pictures are compressed already, so they are stored as they are. */
  readonly isGzip: boolean
  readonly bytes: Uint8Array
}

export interface PagePack {
  /** The names of pages that have the content of `index.html`. */
  readonly pages: ReadonlyArray<string>
  /** By name. */
  readonly files: ReadonlyMap<string, PageFile>
}

interface PackHeader {
  readonly pages: ReadonlyArray<string>
  readonly files: ReadonlyArray<readonly [name: string, contentType: string, isGzip: boolean, length: number]>
}

const newline = 10

export const writePagePack = ({ pages, files }: PagePack): Uint8Array => {
  const header: PackHeader = {
    pages,
    files: [...files].map(([name, { contentType, isGzip, bytes }]) => [
      name,
      contentType,
      isGzip,
      bytes.length,
    ]),
  }
  return Buffer.concat([
    Buffer.from(`${JSON.stringify(header)}\n`),
    ...[...files.values()].map(({ bytes }) => bytes),
  ])
}

/** The files are views of `pack`, so nothing is copied. */
export const readPagePack = (pack: Uint8Array): PagePack => {
  let at = pack.indexOf(newline) + 1
  const header: PackHeader = JSON.parse(new TextDecoder().decode(pack.subarray(0, at)))
  const files = new Map<string, PageFile>()
  for (const [name, contentType, isGzip, length] of header.files) {
    files.set(name, { contentType, isGzip, bytes: pack.subarray(at, at + length) })
    at += length
  }
  if (at !== pack.length) throw new Error("the file of the pages is damaged: build the pages again")
  return { pages: header.pages, files }
}
