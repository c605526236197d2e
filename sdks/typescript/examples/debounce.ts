// Save a document 5 s after the last change. Every change creates the same timer again, which moves it.
import type { Punctual } from "@punctual/client"

export const documentChanged = async (
  punctual: Punctual,
  document: string,
  callbackUrl: string,
): Promise<void> => {
  await punctual.timers.create({
    timerId: `save-${document}`,
    delay: "5s",
    callbackUrl,
    payload: { document },
  })
}
