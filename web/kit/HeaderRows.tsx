/** The headers of a request, as rows that the reader adds and removes. */
import { Button } from "./Button.tsx"

export interface HeaderDraft {
  /** Tells rows apart, because names may be equal while the reader types. */
  readonly row: number
  readonly name: string
  readonly value: string
}

export interface HeaderRowsProps {
  readonly headers: ReadonlyArray<HeaderDraft>
  readonly headersMax: number
  readonly error: string | undefined
  readonly onChange: (headers: ReadonlyArray<HeaderDraft>) => void
}

export const HeaderRows = ({ headers, headersMax, error, onChange }: HeaderRowsProps) => {
  const edit = (row: number, changes: { readonly name?: string; readonly value?: string }) =>
    onChange(headers.map((header) => (header.row === row ? { ...header, ...changes } : header)))
  return (
    <fieldset className="headers">
      <legend>Headers</legend>
      {headers.map(({ row, name, value }, index) => (
        <div key={row} className="header-row">
          <input
            aria-label={`Name of header ${index + 1}`}
            placeholder="x-name"
            value={name}
            spellCheck={false}
            autoComplete="off"
            onChange={({ target }) => edit(row, { name: target.value })}
          />
          <input
            aria-label={`Value of header ${index + 1}`}
            placeholder="value"
            value={value}
            spellCheck={false}
            autoComplete="off"
            onChange={({ target }) => edit(row, { value: target.value })}
          />
          <Button
            look="quiet"
            icon="close"
            label={`Remove header ${index + 1}`}
            onClick={() => onChange(headers.filter((header) => header.row !== row))}
          />
        </div>
      ))}
      {error !== undefined && (
        <p className="field-error" role="alert">
          {error}
        </p>
      )}
      {headers.length < headersMax && (
        <Button
          isSmall
          icon="plus"
          onClick={() =>
            onChange([
              ...headers,
              { row: Math.max(-1, ...headers.map(({ row }) => row)) + 1, name: "", value: "" },
            ])
          }
        >
          Add a header
        </Button>
      )}
    </fieldset>
  )
}
