/** Light, dark, or what the reader's system prefers. */
import { Setting } from "./Setting.ts"

export const themes = ["system", "light", "dark"] as const
export type Theme = (typeof themes)[number]

const isTheme = (value: unknown): value is Theme => themes.some((theme) => theme === value)

export const themeSetting = new Setting<Theme>("theme", "system", isTheme)

const show = (): void => {
  const { value } = themeSetting
  if (value === "system") delete document.documentElement.dataset["theme"]
  else document.documentElement.dataset["theme"] = value
}

/** Keeps the page in the chosen theme. */
export const followTheme = (): void => {
  show()
  themeSetting.subscribe(show)
}
