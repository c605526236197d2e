import { learnFromDate } from "../kit/now.ts"
import { whenAnswered } from "../kit/serviceCall.ts"
import { startPages } from "../kit/startPages.tsx"
import { App } from "./App.tsx"

whenAnswered(({ headers }) => learnFromDate(headers.get("date")))
startPages(<App />)
