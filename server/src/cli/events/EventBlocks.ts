// Reads the text of an event stream (text/event-stream) as it arrives, in pieces of any length.

export interface EventBlock {
  readonly event: string
  readonly data: string
}

/** An event is much smaller. */
const blockCharsMax = 1024 * 1024

export class EventBlocks {
  /** The id to continue from. */
  lastId: string | undefined
  readonly #decoder = new TextDecoder()
  #rest = ""

  /** The events that are complete. Throws if one is too long. */
  take(bytes: Uint8Array): ReadonlyArray<EventBlock> {
    const texts = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split("\n\n")
    this.#rest = texts.pop() ?? ""
    if (this.#rest.length > blockCharsMax) throw new Error("an event is too long")
    return texts.flatMap((text) => this.#block(text))
  }

  /** The stream was interrupted. Its last event will come again. */
  interrupt(): void {
    this.#rest = ""
    this.#decoder.decode()
  }

  #block(text: string): ReadonlyArray<EventBlock> {
    const fields = new Map(
      text.split("\n").map((line): readonly [string, string] => {
        const [name = "", ...value] = line.split(": ")
        return [name, value.join(": ")]
      }),
    )
    this.lastId = fields.get("id") ?? this.lastId
    const event = fields.get("event")
    return event === undefined ? [] : [{ event, data: fields.get("data") ?? "" }]
  }
}
