/** The colours of nodes. They repeat if there are more nodes than colours, so names stand beside them. */
import type { Cluster } from "./StatusPage.tsx"

const coloursMax = 8

/** The class of the colour of each node. It does not change while the same nodes are there. */
export const ownerColours = ({ nodes, shards }: Cluster): ReadonlyMap<string, string> => {
  const names = new Set([...nodes.map(({ node }) => node), ...shards.flatMap(({ owner }) => owner ?? [])])
  return new Map([...names].sort().map((name, index) => [name, `owner owner-${index % coloursMax}`]))
}
