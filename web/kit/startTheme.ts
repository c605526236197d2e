// Sets the theme before the page is drawn, so that a dark page does not flash white. It runs as a script of its own,
// because modules run later.
const theme = localStorage.getItem("punctual.theme")
if (theme === '"light"' || theme === '"dark"') document.documentElement.dataset["theme"] = JSON.parse(theme)
