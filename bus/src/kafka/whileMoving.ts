// Repeats a read while the broker that must answer is starting or changing. That takes a moment after a topic or the first
// group was created, and after a restart.
import { kafkaCodeOf, kafkaCodes } from "./KafkaFailure.ts"
import { pause } from "./within.ts"

/** The broker that must answer is starting, or has changed. */
export const movingCodes: ReadonlySet<number> = new Set([
  kafkaCodes.unknownTopic,
  kafkaCodes.leaderNotAvailable,
  kafkaCodes.notLeader,
  kafkaCodes.coordinatorLoading,
  kafkaCodes.coordinatorNotAvailable,
  kafkaCodes.notCoordinator,
])

const withinMs = 5_000
const againMs = 100

/** The work must ask the cluster again for the broker. */
export const whileMoving = async <A>(work: () => Promise<A>): Promise<A> => {
  const deadlineMs = performance.now() + withinMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!movingCodes.has(kafkaCodeOf(error) ?? 0) || performance.now() > deadlineMs) throw error
      await pause(againMs)
    }
  }
}
