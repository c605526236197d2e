// What all systems are given alike.
export const queueName = "bench"

/** How many jobs a worker may have under way at once. */
export const concurrency = 200

export const payload = {
  customer: "c-1029384756",
  plan: "pro",
  note: "a reminder of about a hundred bytes of JSON",
}
