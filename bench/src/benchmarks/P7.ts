// How late timers fire at 1,000 per second, with a million others pending. Over webhooks the receiver measures it, for the
// service on each of its stores. In process the handler measures it, for Punctual and its peers.
import { fillWithinMs, latenessAmongMany, paceAmongMany } from "../amongMany.ts"
import { atMost, type Benchmark, type Row, type Verdict } from "../Benchmark.ts"
import { compareLateness, type LatenessSide } from "../compareLateness.ts"
import { punctualTerms } from "../PunctualWork.ts"
import { peers } from "../peers/Peer.ts"
import { Receiver } from "../Receiver.ts"
import { storeName } from "../Service.ts"
import { WebhookPace } from "../WebhookPace.ts"

/** The target relative to the best peer. */
const mostShare = 0.2

export const P7: Benchmark = {
  id: "P7",
  title: "lateness at 1,000 fires a second with 1,000,000 pending",
  uses: ["postgres"],
  run: async (scale, progress) => {
    const { pending, perSecond, seconds } = paceAmongMany(scale)
    await using receiver = await Receiver.start()
    await using stack = new AsyncDisposableStack()
    const overWebhooks = (["sqlite", "postgres"] as const).map((kind): LatenessSide => {
      // The service is filled once, because each round removes only its own timers.
      let pace: WebhookPace | undefined
      return {
        name: `Punctual, ${storeName[kind]}, webhook`,
        terms: punctualTerms[kind],
        needs: kind === "postgres" ? ["postgres"] : [],
        measure: async () => {
          pace ??= stack.use(await WebhookPace.filled(kind, receiver, pending, progress))
          return { latenessMs: await pace.fire(perSecond, seconds), pending }
        },
      }
    })
    const terms = { rounds: scale.rounds, pending, fillWithinMs }
    const webhook = await compareLateness(overWebhooks, terms, progress)
    await stack.disposeAsync()
    const handler = await latenessAmongMany(scale, progress)
    return {
      rows: [
        ...webhook.rows,
        ...handler.rows.map((row): Row => ({ ...row, name: `${row.name}, in process` })),
      ],
      verdicts: [
        ...overWebhooks.flatMap(({ name }): ReadonlyArray<Verdict> => {
          const { p50, p99, earliest } = webhook.of(name)
          return [
            atMost(`${name}: p50`, p50, 3, "ms"),
            atMost(`${name}: p99`, p99, 25, "ms"),
            ...(Number.isFinite(earliest) ? [neverEarly(name, earliest)] : []),
          ]
        }),
        ...(scale.withPeers
          ? (["p50", "p99"] as const).map((at) => {
              const best = Math.min(...peers.map(({ name }) => handler.of(name)[at]).filter(Number.isFinite))
              return atMost(
                `SQLite in process, ${at}, of the best peer`,
                handler.of("Punctual, SQLite")[at] / best,
                mostShare,
                "",
              )
            })
          : []),
      ],
    }
  },
}

const neverEarly = (name: string, earliestMs: number): Verdict => ({
  label: `${name}: earliest`,
  value: `${earliestMs.toFixed(2)} ms`,
  target: "≥ 0 ms",
  isReached: earliestMs >= 0,
})
