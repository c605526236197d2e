// Records what a bus logs, for tests that check it.
import { type Layer, Logger } from "effect"

/** A logger that records all lines, and the layer that makes it the only logger. */
export const keptLogs = (): { readonly lines: Array<string>; readonly layer: Layer.Layer<never> } => {
  const lines: Array<string> = []
  const logger = Logger.make<unknown, void>(({ message }) => {
    lines.push(Array.isArray(message) ? message.join(" ") : String(message))
  })
  return { lines, layer: Logger.layer([logger]) }
}
