/** Lists that the service answers in pages: an async iterator over all items, which reads each page when it is needed. */

/** One page, and where the next one begins. */
export interface Page<Item> {
  readonly items: ReadonlyArray<Item>
  /** Absent on the last page. A page can be empty and still have one. */
  readonly nextCursor: string | undefined
}

/** Reads the page at the cursor; the first one without a cursor. */
export type ReadPage<Item> = (cursor: string | undefined) => Promise<Page<Item>>

/** A list: `for await (const item of list)`. Nothing is sent before the first item is asked for. */
export class Paged<Item> implements AsyncIterable<Item> {
  readonly #read: ReadPage<Item>

  constructor(read: ReadPage<Item>) {
    this.#read = read
  }

  /** One page: the first one, or that at the cursor. */
  page(cursor?: string): Promise<Page<Item>> {
    return this.#read(cursor)
  }

  /** All pages, one after the other. */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    let cursor: string | undefined
    do {
      const page = await this.#read(cursor)
      yield page
      if (page.nextCursor !== undefined && page.nextCursor === cursor) {
        throw new Error("the service answered the same cursor again: the list would not end")
      }
      cursor = page.nextCursor
    } while (cursor !== undefined)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages()) yield* page.items
  }

  /** The first items of the list, at most `limit` of them. */
  async toArray({ limit }: { readonly limit: number }): Promise<Array<Item>> {
    if (!Number.isInteger(limit) || limit < 1)
      throw new TypeError("limit must be a whole number of at least 1")
    const items: Array<Item> = []
    for await (const page of this.pages()) {
      items.push(...page.items.slice(0, limit - items.length))
      if (items.length >= limit) break
    }
    return items
  }
}
