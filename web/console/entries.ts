/** The entries of the console's navigation. */
import type { NavigationEntry } from "../kit/Navigation.tsx"
import type { PageName } from "./pageNames.ts"

interface Entry extends NavigationEntry {
  readonly page: PageName
  readonly also?: ReadonlyArray<PageName>
}

export const entries: ReadonlyArray<Entry> = [
  { page: "timers", label: "Timers", icon: "timers", also: ["timer", "new"] },
  { page: "dead-letters", label: "Dead letters", icon: "dead", also: ["jobs"] },
  { page: "namespaces", label: "Namespaces", icon: "namespaces", also: ["namespace"] },
  { page: "status", label: "Status", icon: "status" },
  { page: "keys", label: "Keys", icon: "keys" },
]
