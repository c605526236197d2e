// A reader of an event stream, for tests. It collects what arrives, and stops reading if the test wants a slow reader.

export interface StreamedEvent {
  readonly event: string
  readonly id: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: each test says which data it expects.
  readonly data: any
}

export class EventLines implements Disposable {
  readonly all: Array<StreamedEvent> = []
  text = ""
  /** The last id, as a browser would send it. */
  lastId: string | undefined
  isEnded = false
  readonly status: number
  readonly contentType: string | null
  readonly #controller: AbortController
  #rest = ""

  private constructor(response: Response, controller: AbortController) {
    this.status = response.status
    this.contentType = response.headers.get("content-type")
    this.#controller = controller
    void this.#read(response)
  }

  /** Resolves when the reader has got its first event, which says which nodes are missing. */
  static async open(url: string, headers: Record<string, string> = {}): Promise<EventLines> {
    const controller = new AbortController()
    const response = await fetch(url, { headers, signal: controller.signal })
    const lines = new EventLines(response, controller)
    while (response.status === 200 && !lines.all.some(({ event }) => event === "nodes") && !lines.isEnded) {
      await new Promise((resolve) => setImmediate(resolve))
    }
    return lines
  }

  close(): void {
    this.#controller.abort()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  async #read(response: Response): Promise<void> {
    const decoder = new TextDecoder()
    try {
      for await (const chunk of response.body ?? []) this.#take(decoder.decode(chunk, { stream: true }))
    } catch {
      // The test has closed the reader, or the connection was cut.
    }
    this.isEnded = true
  }

  #take(text: string): void {
    this.text += text
    const blocks = (this.#rest + text).split("\n\n")
    this.#rest = blocks.pop() ?? ""
    for (const block of blocks) {
      const field = (name: string) =>
        block
          .split("\n")
          .find((line) => line.startsWith(`${name}: `))
          ?.slice(name.length + 2)
      const [event, id, data] = [field("event"), field("id"), field("data")]
      this.lastId = id ?? this.lastId
      if (event !== undefined) this.all.push({ event, id, data: JSON.parse(data ?? "null") })
    }
  }
}
