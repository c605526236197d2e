// Work that nobody waits for, one item at a time: between two items the thread does what is due.

export const inSlices = async <A, B>(items: ReadonlyArray<A>, work: (item: A) => B): Promise<Array<B>> => {
  const done: Array<B> = []
  for (const item of items) {
    done.push(work(item))
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  return done
}
