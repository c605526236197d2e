// The settings of the broker beside its URL: what they mean together, and which of them contradict each other.
import { readFileSync } from "node:fs"
import { orOf } from "@punctual/api/orOf"
import { isPair } from "@punctual/door/pemFiles"
import { formsOf } from "../ports/Adapter.ts"
import type { BusChoice, BusTerms } from "../ports/BusAdapter.ts"
import { type Adapters, brokerUrlName, settings } from "./Settings.ts"

export interface BrokerValues {
  readonly brokerUrl: BusChoice
  readonly brokerCaFile?: string | undefined
  readonly brokerCertFile?: string | undefined
  readonly brokerKeyFile?: string | undefined
  readonly brokerReplicas: number
  readonly brokerSync: "lazy" | "always"
  readonly brokerStream: string
  readonly brokerPrefix: string
  readonly brokerTopic: string
  readonly brokerPartitions: number
  readonly brokerSubjects: BusTerms["subjects"]
  readonly brokerQueues: BusTerms["queues"]
}

/** A setting without an effect is refused, because the user expects one. */
export const brokerContradictions = (values: BrokerValues, adapters: Adapters): ReadonlyArray<string> => {
  const { brokerUrl } = values
  const found: Array<string> = []
  for (const [term, key] of brokerFiles) {
    if (values[key] === undefined || brokerUrl.obeys.has(term)) continue
    const forms = adapters.buses.flatMap(({ tlsForm }) => (tlsForm === undefined ? [] : [tlsForm]))
    found.push(
      `${settings[key].name} only works with a broker over TLS: set ${brokerUrlName} to ${orOf(forms)}, or remove the setting.`,
    )
  }
  found.push(...pairProblems(values))
  const others = adapters.buses.filter(({ isShared }) => isShared)
  const ofStream = `but ${brokerUrlName} is ${brokerUrl.shown}, where it has no effect: set ${brokerUrlName} to a broker, such as ${formsOf(others)}, or remove the setting.`
  for (const [term, key] of brokerOnly) {
    const { name, byDefault } = settings[key]
    if (!brokerUrl.obeys.has(term) && String(values[key]) !== byDefault) {
      found.push(`${name} is ${values[key]}, ${ofStream}`)
    }
  }
  return found
}

/** The files that only a broker over TLS needs, with their terms. */
const brokerFiles = [
  ["caFile", "brokerCaFile"],
  ["certFile", "brokerCertFile"],
  ["keyFile", "brokerKeyFile"],
] as const

/** A certificate needs its key. Both files have been read before, one by one. */
const pairProblems = ({ brokerCertFile, brokerKeyFile }: BrokerValues): ReadonlyArray<string> => {
  const names = [settings.brokerCertFile.name, settings.brokerKeyFile.name]
  if (brokerCertFile === undefined && brokerKeyFile === undefined) return []
  if (brokerCertFile === undefined || brokerKeyFile === undefined)
    return [`${names.join(" and ")} belong together: set both, or none.`]
  return isPair(readFileSync(brokerCertFile, "utf8"), readFileSync(brokerKeyFile, "utf8"))
    ? []
    : [`${names[1]} must name the key that belongs to the certificate in ${names[0]}.`]
}

/** The settings that only affect a broker, with their terms. */
const brokerOnly = [
  ["replicas", "brokerReplicas"],
  ["isSynced", "brokerSync"],
  ["stream", "brokerStream"],
  ["prefix", "brokerPrefix"],
  ["topic", "brokerTopic"],
  ["partitions", "brokerPartitions"],
  ["subjects", "brokerSubjects"],
  ["queues", "brokerQueues"],
] as const

export const brokerTermsOf = (values: Omit<BrokerValues, "brokerUrl">): BusTerms => ({
  ...(values.brokerCaFile === undefined ? {} : { caFile: values.brokerCaFile }),
  ...(values.brokerCertFile === undefined ? {} : { certFile: values.brokerCertFile }),
  ...(values.brokerKeyFile === undefined ? {} : { keyFile: values.brokerKeyFile }),
  replicas: values.brokerReplicas,
  isSynced: values.brokerSync === "always",
  stream: values.brokerStream,
  prefix: values.brokerPrefix,
  topic: values.brokerTopic,
  partitions: values.brokerPartitions,
  subjects: values.brokerSubjects,
  queues: values.brokerQueues,
})
