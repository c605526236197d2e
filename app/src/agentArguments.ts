// What `punctual agent` is asked to run.
import { type AgentModule, agentModules } from "@punctual/agent/agent"
import { nearName } from "@punctual/api/nearName"

export interface AgentArguments {
  readonly modules: ReadonlySet<AgentModule>
  readonly hasTimer: boolean
  readonly isDemo: boolean
}

const names = [...agentModules, "timer"] as const

export const agentUsage = `Use  punctual agent [--modules ${names.join(",")}] [--demo]`

/** A problem is wrong usage: one sentence, and the usage. */
export const readAgentArguments = (
  args: ReadonlyArray<string>,
): AgentArguments | { readonly problem: string } => {
  let listed: string | undefined
  let isDemo = false
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? ""
    const [, inline] = /^--modules=(.*)$/s.exec(arg) ?? []
    if (arg === "--demo") isDemo = true
    else if (inline !== undefined) listed = inline
    else if (arg === "--modules") listed = args[++at] ?? ""
    else
      return { problem: `${JSON.stringify(arg.slice(0, 100))} is not a flag of this command. ${agentUsage}` }
  }
  const modules = listed === undefined ? names : listed.split(",").map((name) => name.trim())
  for (const module of modules) {
    if ((names as ReadonlyArray<string>).includes(module)) continue
    const meant = nearName(module, names)
    const hint = meant === undefined ? agentUsage : `Did you mean ${meant}?`
    return { problem: `--modules: ${JSON.stringify(module.slice(0, 100))} is not a module. ${hint}` }
  }
  return {
    modules: new Set(agentModules.filter((module) => modules.includes(module))),
    hasTimer: modules.includes("timer"),
    isDemo,
  }
}
