// What every timer and every job carries, Punctual's and the peers' alike: about a hundred bytes of JSON.
export const samplePayload = {
  order: 1_042,
  customer: "c-77",
  reason: "payment retry",
  amount: "19.90",
  currency: "EUR",
}
