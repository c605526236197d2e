/** Exports every row of a list, not only the rows that are shown. The reader can stop it. */
import { useState } from "react"
import { Button } from "./Button.tsx"
import { Dialog } from "./Dialog.tsx"
import { type ExportFormat, type ExportOptions, exportRows, exportRowsMax } from "./exportRows.ts"
import { Menu } from "./Menu.tsx"
import { toast } from "./toasts.tsx"

export interface ExportButtonProps<Row> extends Pick<ExportOptions<Row>, "name" | "columns"> {
  /** What the rows are: "timers". */
  readonly unit: string
  /** One page of the list. Undefined as cursor means the first page. */
  readonly page: (cursor: string | undefined, signal: AbortSignal) => ReturnType<ExportOptions<Row>["page"]>
}

export const ExportButton = <Row,>({ name, columns, unit, page }: ExportButtonProps<Row>) => {
  const [running, setRunning] = useState<{ readonly rows: number; readonly stop: AbortController }>()
  const start = async (format: ExportFormat) => {
    const stop = new AbortController()
    setRunning({ rows: 0, stop })
    try {
      const { rows, isCut } = await exportRows<Row>({
        name,
        format,
        columns,
        signal: stop.signal,
        onProgress: (done) => setRunning({ rows: done, stop }),
        page: (cursor) => page(cursor, stop.signal),
      })
      const limit = isCut
        ? ` There are more: an export has at most ${exportRowsMax.toLocaleString("en")}.`
        : ""
      toast(`${rows.toLocaleString("en")} ${unit} exported.${limit}`)
    } catch (error) {
      if (!stop.signal.aborted) toast(error instanceof Error ? error.message : String(error), true)
    }
    setRunning(undefined)
  }
  return (
    <>
      <Menu
        icon="export"
        label="Export"
        items={[
          { label: "Export as CSV", onChoose: () => void start("csv") },
          { label: "Export as JSON", onChoose: () => void start("json") },
        ]}
      />
      {running !== undefined && (
        <Dialog
          title="Export"
          onClose={() => running.stop.abort()}
          actions={<Button onClick={() => running.stop.abort()}>Stop</Button>}
        >
          <p className="figures" aria-live="polite">
            {running.rows.toLocaleString("en")} {unit} so far …
          </p>
        </Dialog>
      )}
    </>
  )
}
