// Charge a card. If the bank refuses, try again after 1, 3 and 7 days, then give up. The timer arms itself again, and its
// payload remembers how often the bank has refused.
import { type Again, Dead, handler, type WebhookHandler } from "@punctual/client/webhooks"

export interface Charge {
  readonly customer: number
  readonly refusals: number
}

const waits = ["1d", "3d", "7d"] as const

export const receiveCharges = (
  secret: string,
  charge: (customer: number) => Promise<boolean>,
): WebhookHandler =>
  handler<Charge>({
    secrets: secret,
    handle: async ({ payload }): Promise<Again | undefined> => {
      if (payload === undefined) throw new Dead("the timer has no charge")
      if (await charge(payload.customer)) return undefined
      const nextDelay = waits[payload.refusals]
      if (nextDelay === undefined) throw new Dead(`the bank refused ${payload.refusals + 1} times`)
      return { nextDelay, payload: { ...payload, refusals: payload.refusals + 1 } }
    },
  })
