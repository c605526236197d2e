/** Brings the reader to the first field that is wrong. */
export const focusFirstError = (form: HTMLFormElement | null | undefined): void =>
  form?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus()
