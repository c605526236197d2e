import { startPages } from "../kit/startPages.tsx"
import { App } from "./App.tsx"

startPages(<App />)
