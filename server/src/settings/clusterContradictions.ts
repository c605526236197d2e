// What the settings of a cluster must not say together with other settings.
import { isLoopbackHost } from "@punctual/door/hostAndPort"
import { formsOf } from "../ports/Adapter.ts"
import type { ClusterValues } from "./Configuration.ts"
import { isUnspecified, makeSecret } from "./NodeIdentity.ts"
import { type Adapters, settings, storeUrlName } from "./Settings.ts"

/** Cluster settings have no effect on a single node, and a cluster requires them. */
export const clusterContradictions = (values: ClusterValues, adapters: Adapters): ReadonlyArray<string> => {
  const { storeUrl, nodeAddress, clusterSecret, httpHost, clock } = values
  const [shared, single] = [true, false].map((isShared) =>
    formsOf(adapters.stores.filter((adapter) => adapter.isShared === isShared)),
  )
  const names = {
    store: storeUrlName,
    address: settings.nodeAddress.name,
    secret: settings.clusterSecret.name,
  }
  if (!storeUrl.adapter.isShared) {
    return [
      ...(nodeAddress === undefined ? [] : [names.address]),
      ...(clusterSecret === undefined ? [] : [names.secret]),
    ].map(
      (name) =>
        `${name} only works with a store that nodes share, and this store is ${storeUrl.adapter.name}: set ${names.store} to ${shared}, or remove the setting.`,
    )
  }
  const found: Array<string> = []
  if (clock.kind === "manual") {
    found.push(
      `${settings.clock.name} is manual, but nodes that share a store would disagree on the time: set ${names.store} to ${single}, or use the system's clock.`,
    )
  }
  if (clusterSecret === undefined) {
    found.push(
      `${names.secret} is missing: nodes that share a store recognise each other by this secret. Create one with ${makeSecret}, and set it on all nodes.`,
    )
  }
  if (nodeAddress === undefined && isUnspecified(httpHost)) {
    found.push(
      `${names.address} is missing: ${settings.httpHost.name} is ${httpHost}, an address that other nodes cannot connect to. Set ${names.address} to this machine's own address, such as 10.0.0.11:8080.`,
    )
  }
  return found
}

export const clusterWarnings = ({ storeUrl, nodeAddress, httpHost }: ClusterValues): ReadonlyArray<string> =>
  storeUrl.adapter.isShared && isLoopbackHost(nodeAddress?.host ?? httpHost)
    ? [
        `other nodes are told to reach this one at ${nodeAddress?.host ?? httpHost}, which only works on this machine: set ${settings.nodeAddress.name} if other nodes run on other machines.`,
      ]
    : []
