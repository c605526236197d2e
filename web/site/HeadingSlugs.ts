// The anchors of the headings of one document, as GitHub makes them, so that a link works there and on the site.

export class HeadingSlugs {
  readonly #seen = new Map<string, number>()

  /** `heading` is the text of the heading, in the order of the document. A second heading with the same text gets a number. */
  slugOf(heading: string): string {
    const slug = heading
      .toLowerCase()
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-")
    const before = this.#seen.get(slug) ?? 0
    this.#seen.set(slug, before + 1)
    return before === 0 ? slug : `${slug}-${before}`
  }
}
