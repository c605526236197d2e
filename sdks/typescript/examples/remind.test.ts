// Two weeks in a test: the real service, with a clock that only the test moves.
import { expect, test } from "bun:test"
import { TestService } from "@punctual/client/testing"
import { invoicePaid, invoiceSent } from "./remind.ts"

test("a customer who does not pay gets one reminder after 14 days, and one who pays gets none", async () => {
  await using service = await TestService.start()
  const receiver = await service.receiver()
  await invoiceSent(service.punctual, 1, receiver.url)
  await invoiceSent(service.punctual, 2, receiver.url)

  await service.advance("10d")
  expect(await invoicePaid(service.punctual, 2)).toBe(false)
  await service.advance("4d")

  expect(receiver.deliveries.map(({ payload }) => payload)).toEqual([{ invoice: 1 }])
  expect(await invoicePaid(service.punctual, 1)).toBe(true)
})
