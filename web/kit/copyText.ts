/** Copies text. Browsers offer the clipboard only to pages with TLS, and many services run without it. */
export const copyText = async (text: string): Promise<boolean> => {
  try {
    if (navigator.clipboard !== undefined) {
      await navigator.clipboard.writeText(text)
      return true
    }
  } catch {
    // The browser refused. The old way may still work.
  }
  const field = document.createElement("textarea")
  field.value = text
  field.className = "copy-field"
  // An open dialog makes the rest of the page inert, so the field must be inside it.
  const place = document.querySelector("dialog[open]") ?? document.body
  const focused = document.activeElement
  place.append(field)
  field.select()
  const isCopied = document.execCommand("copy")
  field.remove()
  if (focused instanceof HTMLElement) focused.focus()
  return isCopied
}
