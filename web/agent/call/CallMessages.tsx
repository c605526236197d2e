/** The messages that moved the call on: which message caused which. */
import { CopyButton } from "../../kit/CopyButton.tsx"
import { Moment } from "../../kit/Moment.tsx"
import type { FoundCall } from "./Contents.tsx"

export const CallMessages = ({ found: { timeline } }: FoundCall) => {
  const messages = timeline.flatMap(({ messageId, ...rest }) =>
    messageId === undefined ? [] : [{ messageId, ...rest }],
  )
  return (
    <section className="card" aria-labelledby="messages-title">
      <header className="card-head">
        <h2 id="messages-title">Messages</h2>
      </header>
      {messages.length === 0 ? (
        <p className="card-body muted">No message has moved this call on yet.</p>
      ) : (
        <div className="table-scroll">
          <table className="table">
            <thead>
              <tr>
                <th>Message</th>
                <th>Id</th>
                <th>Caused by</th>
                <th>Handled</th>
              </tr>
            </thead>
            <tbody>
              {messages.map(({ messageId, causationId, what, at, version }) => {
                const cause = messages.find((other) => other.messageId === causationId)
                return (
                  <tr key={`${messageId}-${version}`}>
                    <td>{what}</td>
                    <td>
                      <MessageId id={messageId} />
                    </td>
                    <td>
                      {cause !== undefined ? (
                        cause.what
                      ) : causationId === undefined ? (
                        <span className="muted">–</span>
                      ) : (
                        <MessageId id={causationId} />
                      )}
                    </td>
                    <td className="figures">
                      <Moment at={at} show="exact" />
                    </td>
                  </tr>
                )
              })}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}

/** The whole id is in the copy and in the tip: most of them begin alike. */
const MessageId = ({ id }: { readonly id: string }) => (
  <span className="message-id">
    <code title={id}>{id.length > 13 ? `…${id.slice(-12)}` : id}</code>
    <CopyButton text={id} what="the id of the message" />
  </span>
)
