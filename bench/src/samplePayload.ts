// The payload of every timer and job, of Punctual and its peers: about a hundred bytes of JSON.
export const samplePayload = {
  order: 1_042,
  customer: "c-77",
  reason: "payment retry",
  amount: "19.90",
  currency: "EUR",
}
