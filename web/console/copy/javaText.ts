/** A call as a Java program of one file. */
import { type ClientCall, clientCallOf, isObject, type Json } from "./clientCall.ts"
import { type CallToCopy, keyVariable, type ServiceToCall } from "./copyAs.ts"

/** `undefined` if the client library has no call for it. */
export const javaText = (call: CallToCopy, { url, needsKey }: ServiceToCall): string | undefined => {
  const known = clientCallOf(call)
  if (known === undefined) return undefined
  const namespace = known.fields.get("namespace")
  const ofNamespace = namespace === undefined ? "" : `.namespace(${textOf(namespace)})`
  const program = `public class Main {
    public static void main(String[] args) {
${needsKey ? `        // The client reads the key from ${keyVariable}.\n` : ""}        var punctual = Punctual.builder().url(${textOf(url)})${ofNamespace}.build();
        var answer = punctual.timers().${callOf(known)};
        System.out.println(answer);
    }
}`
  const types = clientTypes.filter((type) => new RegExp(`\\b${type}\\b`).test(program))
  const imports = [
    ...types.map((type) => `import io.punctual.client.${type};`),
    ...["Collection", "Map"]
      .filter((type) => new RegExp(`\\b${type}[.<]`).test(program))
      .map((type) => `import java.util.${type};`),
  ]
  return [...imports, "", program].join("\n")
}

const clientTypes = [
  "CreateTimer",
  "Json",
  "OnExisting",
  "OnExpire",
  "Punctual",
  "RetryPolicyInput",
  "TargetInput",
  "UpdateTimer",
  "WebhookBody",
  "WebhookMethod",
]

const callOf = ({ method, fields, payload }: ClientCall): string => {
  const id = textOf(fields.get("timerId") ?? "")
  if (method === "get") return `get(${id})`
  if (method === "cancel") {
    const revision = fields.get("ifRevision")
    return revision === undefined ? `cancel(${id})` : `cancel(${id}, ${revision}L)`
  }
  const isUpdate = method === "update"
  const rest = [...fields].filter(([name]) => name !== "namespace" && !(isUpdate && name === "timerId"))
  const setters = [
    ...rest.map(([name, value]) => setterOf(name, value, deep)),
    ...(payload === undefined
      ? []
      : [`.payload(${payload === "null" ? "null" : `Json.parse(${textOf(payload)})`})`]),
  ]
  const start = isUpdate ? `new UpdateTimer(${id})` : "new CreateTimer()"
  return `${method}(${[start, ...setters].join(`\n${deep}`)})`
}

const deep = "                "
const deeper = "                        "

/** Some methods exist for several types, so their null needs one. */
const typedNulls: Readonly<Record<string, string>> = {
  expireAfter: "(String) null",
  tags: "(Collection<String>) null",
}

const setterOf = (name: string, value: Json, indent: string): string =>
  `.${name}(${value === null ? (typedNulls[name] ?? "null") : textOfValue(name, value, indent)})`

const enums: Readonly<Record<string, string>> = {
  onExisting: "OnExisting",
  onExpire: "OnExpire",
  method: "WebhookMethod",
  body: "WebhookBody",
}

const textOfValue = (name: string, value: Json, indent: string): string => {
  const type = enums[name]
  if (type !== undefined && typeof value === "string") return `${type}.${value.toUpperCase()}`
  if (name === "ifRevision") return `${value}L`
  if (Array.isArray(value)) return value.map((item: Json) => textOf(item)).join(", ")
  if (name === "headers" && isObject(value)) return mapOf(value)
  if (name === "retryPolicy" && isObject(value)) return built("new RetryPolicyInput()", value, indent)
  if (isObject(value)) return targetOf(value, indent)
  return typeof value === "string" ? textOf(value) : String(value)
}

const targetOf = (target: { readonly [name: string]: Json }, indent: string): string => {
  const { type, url, ...rest } = target
  if (type === "event") return "TargetInput.event()"
  return built(`TargetInput.webhook(${textOf(url ?? "")})`, rest, indent)
}

const built = (start: string, value: { readonly [name: string]: Json }, indent: string): string => {
  const next = indent === deep ? deeper : indent
  return [start, ...Object.entries(value).map(([name, member]) => setterOf(name, member, next))].join(
    `\n${next}`,
  )
}

const mapOf = (value: { readonly [name: string]: Json }): string =>
  `Map.ofEntries(${Object.entries(value)
    .map(([name, member]) => `Map.entry(${textOf(name)}, ${textOf(String(member))})`)
    .join(", ")})`

/**
 * As JSON, with two differences. Java reads `\\u` before everything else, so control characters are octal. Characters beyond
 * ASCII are escaped, because older compilers read a file in the encoding of the system.
 */
const textOf = (value: Json): string =>
  JSON.stringify(String(value))
    .replaceAll(/\\(?:u([0-9a-f]{4})|.)/g, (whole, code: string | undefined) =>
      code === undefined ? whole : octal(Number.parseInt(code, 16)),
    )
    .replaceAll(/[\u007f-\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`)

const octal = (code: number): string => `\\${code.toString(8).padStart(3, "0")}`
