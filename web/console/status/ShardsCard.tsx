/** The shards as a grid in the colours of their owners. The same is there as a table. */
import { classes } from "../../kit/classes.ts"
import { durationText } from "../../kit/times.ts"
import { lateMs } from "./lateMs.ts"
import { ownerColours } from "./ownerColours.ts"
import type { Cluster } from "./StatusPage.tsx"

type Shard = Cluster["shards"][number]

const isLate = ({ lagMs }: Shard): boolean => (lagMs ?? 0) > lateMs

const lagText = ({ lagMs }: Shard): string => (lagMs === undefined ? "not known" : durationText(lagMs))

export const ShardsCard = ({ cluster }: { readonly cluster: Cluster }) => {
  const { shards } = cluster
  const colours = ownerColours(cluster)
  const owners = [...new Set(shards.flatMap(({ owner }) => owner ?? []))].sort()
  const free = shards.filter(({ owner }) => owner === undefined).length
  const late = shards.filter(isLate).length
  return (
    <section className="card" aria-labelledby="shards-title">
      <header className="card-head">
        <h2 id="shards-title">Shards</h2>
      </header>
      <div className="card-body shards">
        <div className="shard-grid" role="img" aria-label={summaryOf(shards, owners)}>
          {shards.map((shard) => (
            <span
              key={shard.shard}
              className={classes(
                "shard",
                shard.owner === undefined ? "owner-none" : colours.get(shard.owner),
                isLate(shard) && "shard-late",
              )}
              title={`Shard ${shard.shard}: ${shard.owner ?? "no owner"}, lag ${lagText(shard)}`}
            >
              {shard.shard}
            </span>
          ))}
        </div>
        <ul className="legend">
          {owners.map((owner) => (
            <li key={owner}>
              <span className={colours.get(owner)} aria-hidden="true" />
              {owner}
            </li>
          ))}
          {free > 0 && (
            <li>
              <span className="owner owner-none" aria-hidden="true" />
              no owner: {free}
            </li>
          )}
          {late > 0 && (
            <li>
              <span className="owner shard-late" aria-hidden="true" />
              late by more than a second: {late}
            </li>
          )}
        </ul>
        <details>
          <summary>As a table</summary>
          <div className="table-scroll">
            <table className="table">
              <thead>
                <tr>
                  <th scope="col" className="number">
                    Shard
                  </th>
                  <th scope="col">Owner</th>
                  <th scope="col" className="number">
                    Epoch
                  </th>
                  <th scope="col" className="number">
                    Lag
                  </th>
                </tr>
              </thead>
              <tbody>
                {shards.map((shard) => (
                  <tr key={shard.shard}>
                    <td className="number">{shard.shard}</td>
                    <td className="node-name">{shard.owner ?? <strong>no owner</strong>}</td>
                    <td className="number">{shard.epoch}</td>
                    <td className="number">{lagText(shard)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </details>
      </div>
    </section>
  )
}

const summaryOf = (shards: ReadonlyArray<Shard>, owners: ReadonlyArray<string>): string => {
  const counted = owners.map((name) => `${name} owns ${shards.filter(({ owner }) => owner === name).length}`)
  const free = shards.filter(({ owner }) => owner === undefined).length
  return [`${shards.length} shards`, ...counted, ...(free > 0 ? [`${free} have no owner`] : [])].join(", ")
}
