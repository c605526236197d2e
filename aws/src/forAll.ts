// Runs many calls, a few at once.

const atOnce = 16

/** Runs the work for all items, a few at once, and keeps their order. */
export const forAll = async <A, B>(
  items: ReadonlyArray<A>,
  work: (item: A, index: number) => Promise<B>,
): Promise<Array<B>> => {
  const results: Array<B> = new Array(items.length)
  let next = 0
  const run = async () => {
    while (next < items.length) {
      const index = next++
      results[index] = await work(items[index] as A, index)
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, run))
  return results
}
