/** The message bus: which one it is, and messages that could not be handled. */
import type { ListMessagesAnswer } from "@punctual/api/Messages"
import { useQuery } from "@tanstack/react-query"
import { Badge } from "../../kit/Badge.tsx"
import { useLiveInterval } from "../../kit/live.ts"
import { Moment } from "../../kit/Moment.tsx"
import { useMay } from "../../kit/self.ts"
import { call } from "../../kit/serviceCall.ts"
import { useProgram } from "./useProgram.ts"

type Messages = typeof ListMessagesAnswer.Encoded

const shownMax = 10
const readEveryMs = 15_000

const reasons: Readonly<Record<Messages["messages"][number]["reason"], string>> = {
  malformed: "could not be read",
  refused: "was refused",
  deliveriesExhausted: "failed too often",
}

export const BusCard = () => {
  const may = useMay()
  const url = useProgram().data?.settings?.find(({ name }) => name === "TIMER_BROKER_URL")?.value
  const { data, error } = useQuery({
    queryKey: ["messages"],
    queryFn: ({ signal }) => call<Messages>("messages/list", { limit: shownMax }, signal),
    enabled: may("bus.read", "*"),
    refetchInterval: useLiveInterval(readEveryMs),
  })
  return (
    <section className="card" aria-labelledby="bus-title">
      <header className="card-head">
        <h2 id="bus-title">Bus</h2>
        {url !== undefined && <span className="muted">{url === "local:" ? "inside this process" : url}</span>}
      </header>
      {error !== null && (
        <p className="card-body field-error" role="alert">
          {error.message}
        </p>
      )}
      {data?.messages.length === 0 && <p className="card-body muted">Every message could be handled.</p>}
      {data !== undefined && data.messages.length > 0 && <MessageTable answer={data} />}
      {!may("bus.read", "*") && (
        <p className="card-body muted">Your key may not see the messages of the bus.</p>
      )}
    </section>
  )
}

const MessageTable = ({ answer: { messages, nextCursor } }: { readonly answer: Messages }) => (
  <>
    <div className="table-scroll">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Message</th>
            <th scope="col">Namespace</th>
            <th scope="col">Problem</th>
            <th scope="col">Since</th>
          </tr>
        </thead>
        <tbody>
          {messages.map(({ id, namespace, type, aggregateId, reason, lastFailure, storedAt }) => (
            <tr key={`${namespace} ${id}`}>
              <td className="node-name">
                {type ?? "unknown"}{" "}
                {aggregateId !== undefined && <span className="muted">{aggregateId}</span>}
              </td>
              <td className="node-name">{namespace}</td>
              <td className="message-problem">
                <Badge tone="bad">{reasons[reason]}</Badge> {lastFailure.error}
              </td>
              <td>
                <Moment at={storedAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
    <p className="card-body muted">
      {nextCursor === undefined ? "" : `These are the ${shownMax} oldest; there are more. `}
      To send messages again or to discard them: <code>punctual messages --help</code>
    </p>
  </>
)
