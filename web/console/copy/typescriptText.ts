/** A call as a TypeScript program. */
import { clientCallOf, keepsNumbers } from "./clientCall.ts"
import { type CallToCopy, keyVariable, type ServiceToCall } from "./copyAs.ts"

/** `undefined` if the client library has no call for it. */
export const typescriptText = (call: CallToCopy, { url, needsKey }: ServiceToCall): string | undefined => {
  const method = clientCallOf(call)?.method
  if (method === undefined) return undefined
  const fields = [...call.members]
    .map(([name, text]) => `  ${name}: ${name === "payload" ? payloadText(text) : text},\n`)
    .join("")
  const isRaw = fields.includes("rawJson(")
  return [
    `import { Punctual${isRaw ? ", rawJson" : ""} } from "@punctual/client"`,
    "",
    ...(needsKey ? [`// The client reads the key from ${keyVariable}.`] : []),
    `const punctual = new Punctual({ url: ${JSON.stringify(url)} })`,
    `const answer = await punctual.timers.${method}({\n${fields}})`,
    "console.log(answer)",
  ].join("\n")
}

/** JSON is an expression, with two exceptions: numbers that JavaScript cannot hold, and a member that sets a prototype. */
const payloadText = (text: string): string =>
  keepsNumbers(text) && !text.includes("__proto__")
    ? text.replaceAll("\n", "\n  ")
    : `rawJson(${JSON.stringify(text)})`
