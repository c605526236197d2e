// The built pages of a product as one text: web/build.ts makes it, and the program's entry reads it. The files are
// compressed, because browsers take them so, and the rest of the program need not spend time on it.

export interface PageFile {
  readonly contentType: string
  readonly gzip: Uint8Array
}

export interface PagePack {
  /** The names of the pages. All of them have the content of `index.html`. */
  readonly pages: ReadonlyArray<string>
  /** By name. The names of files other than `index.html` change with their content. */
  readonly files: ReadonlyMap<string, PageFile>
}

export const readPagePack = (text: string): PagePack => {
  const pack: {
    readonly pages: ReadonlyArray<string>
    readonly files: Readonly<Record<string, { readonly type: string; readonly gzip: string }>>
  } = JSON.parse(text)
  const files = Object.entries(pack.files).map(
    ([name, { type, gzip }]) => [name, { contentType: type, gzip: Buffer.from(gzip, "base64") }] as const,
  )
  return { pages: pack.pages, files: new Map(files) }
}
