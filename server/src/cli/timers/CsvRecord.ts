// One record of a CSV file by RFC 4180. The reader feeds it line by line, because a quoted field may contain line
// breaks. Lines end with LF or CRLF. The parser guesses nothing: a record with a misplaced quote is not used.

export class CsvRecord {
  readonly fields: Array<string> = []
  /** What is wrong with the record. */
  problem: string | undefined
  #isQuoted = false
  #parts: Array<string> = []

  /** A quoted field is open, so the record continues on the next line. */
  get isOpen(): boolean {
    return this.#isQuoted && this.problem === undefined
  }

  /** Takes the next line of the record, without its LF. */
  feed(line: string): void {
    const end = line.endsWith("\r") ? line.length - 1 : line.length
    let at = 0
    for (;;) {
      if (this.#isQuoted) {
        const quote = line.indexOf('"', at)
        if (quote < 0) {
          this.#parts.push(line.slice(at), "\n")
          return
        }
        this.#parts.push(line.slice(at, quote))
        at = quote + 1
        if (line[at] === '"') {
          this.#parts.push('"')
          at++
          continue
        }
        this.#isQuoted = false
        this.#endField(this.#parts.join(""))
        if (at < end && line[at] !== ",") {
          this.problem = "has text after a closing quote: a quote inside a quoted field is written twice"
          return
        }
      } else if (line[at] === '"') {
        this.#isQuoted = true
        at++
        continue
      } else {
        const comma = line.indexOf(",", at)
        const text = line.slice(at, comma < 0 || comma > end ? end : comma)
        if (text.includes('"')) {
          this.problem = "has a quote in a field that does not begin with one: put the whole field in quotes"
          return
        }
        this.#endField(text)
        at += text.length
      }
      if (at >= end) return
      // After a comma another field follows, which may be empty.
      at++
      if (at >= end) {
        this.#endField("")
        return
      }
    }
  }

  #endField(text: string): void {
    this.fields.push(text)
    this.#parts = []
  }
}
