/** The hosts to which no attempt goes, because they failed too often in a row. */
import type { ListBreakersAnswer, ResetBreakersAnswer } from "@punctual/api/Service"
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { Button } from "../../kit/Button.tsx"
import { useLiveInterval } from "../../kit/live.ts"
import { useMay } from "../../kit/self.ts"
import { call } from "../../kit/serviceCall.ts"
import { durationText } from "../../kit/times.ts"
import { toast } from "../../kit/toasts.tsx"

type Breakers = typeof ListBreakersAnswer.Encoded

export const BreakersCard = () => {
  const { data, error } = useQuery({
    queryKey: ["breakers"],
    queryFn: ({ signal }) => call<Breakers>("breakers/list", {}, signal),
    refetchInterval: useLiveInterval(),
  })
  return (
    <section className="card" aria-labelledby="breakers-title">
      <header className="card-head">
        <h2 id="breakers-title">Open breakers</h2>
        {data !== undefined && (
          <span className="muted">
            of the node <span className="node-name">{data.node}</span>; each node has its own
          </span>
        )}
      </header>
      {error !== null && (
        <p className="card-body field-error" role="alert">
          {error.message}
        </p>
      )}
      {data?.breakers.length === 0 && (
        <p className="card-body muted">
          None. A breaker opens when a host fails ten times in a row. Then its timers wait, and one attempt at
          a time tests the host.
        </p>
      )}
      {data !== undefined && data.breakers.length > 0 && <BreakerTable answer={data} />}
    </section>
  )
}

const BreakerTable = ({ answer: { breakers, more } }: { readonly answer: Breakers }) => {
  const may = useMay()
  const queries = useQueryClient()
  const reset = useMutation({
    mutationFn: (host: string) => call<typeof ResetBreakersAnswer.Encoded>("breakers/reset", { host }),
    onSuccess: ({ reset: closed, node }, host) =>
      toast(
        closed === 0
          ? `No breaker for ${host} is open on ${node}.`
          : `${node} tries ${host} again. Its waiting timers start at once.`,
      ),
    onError: (problem) => toast(problem.message, true),
    onSettled: () => queries.invalidateQueries({ queryKey: ["breakers"] }),
  })
  return (
    <div className="table-scroll">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Host</th>
            <th scope="col">Namespace</th>
            <th scope="col" className="number">
              Failures
            </th>
            <th scope="col" className="number">
              Waiting timers
            </th>
            <th scope="col" className="number">
              Next test
            </th>
            <th scope="col">
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {breakers.map(({ host, namespace, failures, waiting, probeInMs }) => (
            <tr key={`${host} ${namespace}`}>
              <td className="node-name">{host}</td>
              <td className="node-name">{namespace}</td>
              <td className="number">{failures.toLocaleString("en")}</td>
              <td className="number">{waiting.toLocaleString("en")}</td>
              <td className="number">{probeInMs === 0 ? "now" : `in ${durationText(probeInMs)}`}</td>
              <td className="number">
                {may("service.write", "*") && (
                  <Button
                    isSmall
                    disabled={reset.isPending}
                    aria-label={`Reset the breakers of ${host}`}
                    title="Close the breakers of this host in all namespaces"
                    onClick={() => reset.mutate(host)}
                  >
                    Reset
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {more === true && <p className="card-body muted">There are more open breakers than this list shows.</p>}
    </div>
  )
}
