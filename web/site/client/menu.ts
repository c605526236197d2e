/** Scrolls the menu to the entry of this page. The page itself does not move. */
export const followMenu = (): void => {
  const menu = document.getElementById("menu")
  const entry = menu?.querySelector<HTMLElement>("[aria-current]")
  if (menu === null || entry === null || entry === undefined) return
  const show = (): void => {
    menu.scrollTop = entry.offsetTop - menu.offsetTop - menu.clientHeight / 2
  }
  show()
  // On a narrow screen the menu has a place only when it opens.
  menu.addEventListener("toggle", show)
}
