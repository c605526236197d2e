// What the pages of the site do beyond plain HTML: search, theme, copy buttons, and the places of the reader in the
// menu and on the page.
import { addCopyButtons } from "./copyButtons.ts"
import { followMenu } from "./menu.ts"
import { addSearch } from "./search.ts"
import { followSections } from "./sections.ts"
import { addThemeButton } from "./themeButton.ts"

followMenu()
addThemeButton()
addCopyButtons()
followSections()
addSearch()
