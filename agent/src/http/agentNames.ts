// The names of the agent's metrics and settings begin with this.

export const agentPrefix = "agent"
