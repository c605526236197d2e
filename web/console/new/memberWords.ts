/** The fields of a request in the words of the form. */
const words: Readonly<Record<string, string>> = {
  executeAt: "the time",
  delay: "the time",
  target: "the target",
  callbackUrl: "the target",
  payload: "the payload",
  tags: "the tags",
  correlationId: "the correlation id",
  retryPolicy: "the retries",
  expireAfter: "the expiry",
  onExpire: "the expiry",
  onDead: "what happens if it becomes a dead letter",
}

/** Two fields may be one thing for the reader. */
export const memberWords = (names: Iterable<string>): ReadonlyArray<string> => [
  ...new Set([...names].map((name) => words[name] ?? name)),
]
