export interface FreshButtonProps {
  readonly added: number
  /** More are not counted. */
  readonly most: number
  /** Such as "new job". */
  readonly noun: string
  readonly onShow: () => void
}

/** New rows wait behind it, because rows must not move while the reader looks at them. */
export const FreshButton = ({ added, most, noun, onShow }: FreshButtonProps) =>
  added === 0 ? null : (
    <button type="button" className="fresh" onClick={onShow}>
      {added === 1 ? `1 ${noun}` : `${added}${added >= most ? "+" : ""} ${noun}s`}
    </button>
  )
