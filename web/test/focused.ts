// Waits for what a key press needs. A key goes to what has the focus, and an effect may set the focus later than the page
// shows its field. A dialog takes all keys until it is gone.
import type { Locator, Page } from "playwright-core"

/** Returns when this has the focus. */
export const untilFocused = (target: Locator): Promise<void> =>
  target.and(target.page().locator(":focus")).waitFor()

/** Returns when no dialog is open. */
export const untilNoDialog = (page: Page): Promise<void> =>
  page.getByRole("dialog").waitFor({ state: "detached" })

/** Types into the field that has the focus. */
export const typeInto = async (field: Locator, text: string): Promise<void> => {
  await untilFocused(field)
  await field.page().keyboard.type(text)
}
