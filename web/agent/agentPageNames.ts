// The pages of the Service Agent. Each has the address `/<name>`, in one folder, because all addresses are relative.
export const agentPageNames = ["calls", "call", "request"] as const

export type AgentPageName = (typeof agentPageNames)[number]
