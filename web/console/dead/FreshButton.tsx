export interface FreshButtonProps {
  readonly added: number
  /** Such as "new job". */
  readonly noun: string
  readonly onShow: () => void
}

const countedMax = 100

/** New rows wait behind it, because rows must not move while the reader looks at them. */
export const FreshButton = ({ added, noun, onShow }: FreshButtonProps) =>
  added === 0 ? null : (
    <button type="button" className="fresh" onClick={onShow}>
      {added === 1 ? `1 ${noun}` : `${added}${added >= countedMax ? "+" : ""} ${noun}s`}
    </button>
  )
