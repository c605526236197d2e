// The names of namespaces in a database that cannot find them in its rows. A process notes a name before it first writes
// a timer of the namespace. A noted name is listed as long as the namespace has a key. Reserved names are not listed.

const mostKnown = 100_000

export class NotedNames {
  readonly #known = new Set<string>()
  readonly #store: (names: ReadonlyArray<string>) => Promise<unknown>

  /** `store` may get names that are stored already. */
  constructor(store: (names: ReadonlyArray<string>) => Promise<unknown>) {
    this.#store = store
  }

  async note(used: Iterable<string>): Promise<void> {
    const unknown = [...new Set(used)].filter((name) => !this.#known.has(name))
    if (unknown.length === 0) return
    await this.#store(unknown)
    if (this.#known.size + unknown.length > mostKnown) this.#known.clear()
    for (const name of unknown) this.#known.add(name)
  }
}

/** `pages` are the noted names in order. Those of a page are checked at once, so pages are small. */
export const usedNames = async (
  pages: AsyncIterable<ReadonlyArray<string>>,
  limit: number,
  isUsed: (name: string) => Promise<boolean>,
): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = []
  for await (const page of pages) {
    const names = page.filter((name) => !name.startsWith("_"))
    const used = await Promise.all(names.map(isUsed))
    found.push(...names.filter((_, index) => used[index]))
    if (found.length >= limit) break
  }
  return found.slice(0, limit)
}
