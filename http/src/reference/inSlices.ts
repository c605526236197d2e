// Does work that is not urgent, one item at a time. Between two items the thread can fire timers.
import { nextTurn } from "@punctual/api/nextTurn"

export const inSlices = async <A, B>(items: ReadonlyArray<A>, work: (item: A) => B): Promise<Array<B>> => {
  const done: Array<B> = []
  for (const item of items) {
    done.push(work(item))
    await nextTurn()
  }
  return done
}
