// A reader of the agent's stream of changes, for tests and benchmarks.

export interface ReadEvent {
  readonly event: string
  readonly id: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: each test says which data it expects.
  readonly data: any
  readonly receivedAtMs: number
}

export class CallEventReader implements Disposable {
  readonly all: Array<ReadEvent> = []
  readonly status: number
  isEnded = false
  readonly #controller: AbortController
  #rest = ""

  private constructor(response: Response, controller: AbortController) {
    this.status = response.status
    this.#controller = controller
    void this.#read(response)
  }

  static async open(url: string, headers: Readonly<Record<string, string>> = {}): Promise<CallEventReader> {
    const controller = new AbortController()
    return new CallEventReader(await fetch(url, { headers, signal: controller.signal }), controller)
  }

  [Symbol.dispose](): void {
    this.#controller.abort()
  }

  async #read(response: Response): Promise<void> {
    const decoder = new TextDecoder()
    try {
      for await (const chunk of response.body ?? []) {
        const blocks = (this.#rest + decoder.decode(chunk, { stream: true })).split("\n\n")
        this.#rest = blocks.pop() ?? ""
        for (const block of blocks) this.#take(block)
      }
    } catch {
      // The test has closed the reader, or the connection was cut.
    }
    this.isEnded = true
  }

  #take(block: string): void {
    const fields = new Map(
      block.split("\n").map((line) => {
        const colon = line.indexOf(":")
        return [line.slice(0, colon), line.slice(colon + 1).trim()] as const
      }),
    )
    const event = fields.get("event")
    if (event === undefined) return
    const data: unknown = JSON.parse(fields.get("data") ?? "null")
    const receivedAtMs = performance.timeOrigin + performance.now()
    this.all.push({ event, id: fields.get("id"), data, receivedAtMs })
  }
}
