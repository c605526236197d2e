import { Badge } from "../../kit/Badge.tsx"
import { durationText } from "../../kit/times.ts"
import { ownerColours } from "./ownerColours.ts"
import type { Cluster } from "./StatusPage.tsx"

export const NodesCard = ({ cluster }: { readonly cluster: Cluster }) => {
  const colours = ownerColours(cluster)
  return (
    <section className="card" aria-labelledby="nodes-title">
      <header className="card-head">
        <h2 id="nodes-title">Nodes</h2>
        <span className="muted">
          as the node <span className="node-name">{cluster.node}</span> sees them
        </span>
      </header>
      <div className="table-scroll">
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Node</th>
              <th scope="col">State</th>
              <th scope="col" className="number">
                Heartbeat
              </th>
              <th scope="col" className="number">
                Shards
              </th>
            </tr>
          </thead>
          <tbody>
            {cluster.nodes.map(({ node, address, isLive, isLeaving, heartbeatAgeMs, shards }) => (
              <tr key={node}>
                <td>
                  <div className="node">
                    <span className={colours.get(node)} aria-hidden="true" />
                    <span className="node-name">
                      {node}
                      {address !== "" && <span className="node-address muted">{address}</span>}
                    </span>
                  </div>
                </td>
                <td>
                  {isLive ? (
                    <Badge tone={isLeaving ? "warning" : "good"}>{isLeaving ? "leaving" : "live"}</Badge>
                  ) : (
                    <Badge tone="bad">silent</Badge>
                  )}
                </td>
                <td className="number">{durationText(heartbeatAgeMs)} ago</td>
                <td className="number">{shards}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}
