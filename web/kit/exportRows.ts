/**
 * Writes rows into a file of the reader, page by page. The browser keeps the parts, on disk if they are large, so the page
 * does not hold the whole list in memory.
 */
export type ExportFormat = "csv" | "json"

export interface Column<Row> {
  readonly name: string
  readonly value: (row: Row) => string | number | undefined
}

export interface ExportOptions<Row> {
  readonly name: string
  readonly format: ExportFormat
  readonly columns: ReadonlyArray<Column<Row>>
  /** Undefined as cursor means the first page. */
  readonly page: (
    cursor: string | undefined,
  ) => Promise<{ readonly rows: ReadonlyArray<Row>; readonly next: string | undefined }>
  readonly onProgress: (rows: number) => void
  readonly signal: AbortSignal
}

export const exportRowsMax = 1_000_000

/** Returns how many rows the file has, and whether there were more. */
export const exportRows = async <Row>({
  name,
  format,
  columns,
  page,
  onProgress,
  signal,
}: ExportOptions<Row>): Promise<{ readonly rows: number; readonly isCut: boolean }> => {
  const parts: Array<Blob> = [
    new Blob([format === "csv" ? csvLine(columns.map((column) => column.name)) : "["]),
  ]
  let rows = 0
  let cursor: string | undefined
  do {
    signal.throwIfAborted()
    const { rows: found, next } = await page(cursor)
    const text = found.map((row, index) =>
      format === "csv"
        ? csvLine(columns.map(({ value }) => value(row)))
        : `${rows + index === 0 ? "\n" : ",\n"}${JSON.stringify(row)}`,
    )
    parts.push(new Blob(text))
    rows += found.length
    cursor = next
    onProgress(rows)
  } while (cursor !== undefined && rows < exportRowsMax)
  signal.throwIfAborted()
  if (format === "json") parts.push(new Blob(["\n]\n"]))
  save(new Blob(parts, { type: format === "csv" ? "text/csv" : "application/json" }), `${name}.${format}`)
  return { rows, isCut: cursor !== undefined }
}

/** Programs for tables would run a cell that begins with one of these as a formula. */
const formulaStart = /^[=+\-@\t\r]/

const csvCell = (value: string | number | undefined): string => {
  if (typeof value === "number") return String(value)
  const text = value === undefined ? "" : formulaStart.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

export const csvLine = (values: ReadonlyArray<string | number | undefined>): string =>
  `${values.map(csvCell).join(",")}\r\n`

const save = (file: Blob, name: string): void => {
  const address = URL.createObjectURL(file)
  const link = document.createElement("a")
  link.href = address
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}
