// The pages of the console. Each has the address `/console/<name>`, in one folder, because all addresses are relative.
export const pageNames = [
  "timers",
  "timer",
  "new",
  "dead-letters",
  "jobs",
  "namespaces",
  "namespace",
  "status",
  "keys",
] as const

export type PageName = (typeof pageNames)[number]
