/** The words of the pages, in a few lines: the states of a timer, what can be searched, and where to read more. */
import { fieldNames, fields } from "./timers/search.ts"

const states: ReadonlyArray<readonly [name: string, meaning: string]> = [
  ["pending", "It will fire at its time."],
  ["in flight", "An attempt is running."],
  ["retrying", "Pending: an attempt failed, and another will follow."],
  ["waiting", "Pending and due, but something holds it back. Its page says what."],
  ["paused", "Pending, and its namespace is paused."],
  ["delivered", "The receiver took it."],
  ["dead", "It could not be delivered. It waits for a replay or a discard."],
  ["cancelled", "It will not fire."],
]

export const TimerHelp = () => (
  <section>
    <h3>States</h3>
    <Words words={states} />
    <h3>Search</h3>
    <Words words={fieldNames.map((name) => [`${name}:`, fields[name]] as const)} />
    <h3>More</h3>
    <p>
      <a href="../docs/">Documentation</a>, <a href="../docs/api">API reference</a>
    </p>
  </section>
)

const Words = ({ words }: { readonly words: ReadonlyArray<readonly [name: string, meaning: string]> }) => (
  <dl className="facts help-words">
    {words.map(([name, meaning]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{meaning}</dd>
      </div>
    ))}
  </dl>
)
