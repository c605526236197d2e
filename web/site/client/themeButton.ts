/** The theme of the site. The console keeps its theme in the same place, so both have the same. */

const place = "punctual.theme"

export const addThemeButton = (): void => {
  const button = document.getElementById("theme")
  if (button === null) return
  const system = matchMedia("(prefers-color-scheme: dark)")
  const root = document.documentElement
  const isDark = (): boolean => (root.dataset["theme"] ?? (system.matches ? "dark" : "light")) === "dark"
  const label = (): void => {
    button.setAttribute("aria-label", `Use the ${isDark() ? "light" : "dark"} theme`)
    button.title = button.getAttribute("aria-label") ?? ""
  }
  button.addEventListener("click", () => {
    const chosen = isDark() ? "light" : "dark"
    // A reader who comes back to the theme of the system follows the system again.
    const isSystem = (chosen === "dark") === system.matches
    if (isSystem) delete root.dataset["theme"]
    else root.dataset["theme"] = chosen
    try {
      localStorage.setItem(place, JSON.stringify(isSystem ? "system" : chosen))
    } catch {
      // Without storage the choice lasts until the page is closed.
    }
    label()
  })
  system.addEventListener("change", label)
  label()
}
