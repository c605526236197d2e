// Runs before the page is drawn: it sets the theme, and shows the controls that need a script, so that nothing moves
// later.
import "../../kit/startTheme.ts"

document.documentElement.dataset["script"] = "on"
