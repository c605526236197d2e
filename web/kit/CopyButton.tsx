import { useState } from "react"
import { Button } from "./Button.tsx"
import { copyText } from "./copyText.ts"
import { toast } from "./toasts.tsx"

export interface CopyButtonProps {
  readonly text: string
  /** What is copied, for the label. */
  readonly what: string
}

const shownMs = 1_500

export const CopyButton = ({ text, what }: CopyButtonProps) => {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    if (!(await copyText(text))) return toast("The browser did not allow the copy.", true)
    setCopied(true)
    setTimeout(() => setCopied(false), shownMs)
  }
  return (
    <Button
      look="quiet"
      isSmall
      icon={isCopied ? "check" : "copy"}
      label={isCopied ? "Copied" : `Copy ${what}`}
      onClick={copy}
    />
  )
}
