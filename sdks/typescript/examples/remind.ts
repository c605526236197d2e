// Remind a customer 14 days after an invoice, and cancel the reminder when the invoice is paid.
import type { Punctual } from "@punctual/client"
import { handler, type WebhookHandler } from "@punctual/client/webhooks"

interface Reminder {
  readonly invoice: number
}

export const invoiceSent = async (
  punctual: Punctual,
  invoice: number,
  callbackUrl: string,
): Promise<void> => {
  await punctual.timers.create<Reminder>({
    timerId: `remind-${invoice}`,
    delay: "14d",
    callbackUrl,
    payload: { invoice },
  })
}

/** Whether the customer got, or gets, a reminder although the invoice is paid. */
export const invoicePaid = async (punctual: Punctual, invoice: number): Promise<boolean> => {
  const { result } = await punctual.timers.cancel({ timerId: `remind-${invoice}` })
  return result === "inFlight" || result === "alreadyDelivered"
}

export const receiveReminders = (secret: string, mail: (invoice: number) => Promise<void>): WebhookHandler =>
  handler<Reminder>({
    secrets: secret,
    handle: async ({ payload }) => {
      if (payload !== undefined) await mail(payload.invoice)
    },
  })
