/** The settings of a namespace as they are, or the form that changes them. */
import { useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { Moment } from "../../kit/Moment.tsx"
import { useMay } from "../../kit/self.ts"
import type { NamespaceView } from "../api.ts"
import { policyText } from "../timer/policyText.ts"
import { SettingsForm } from "./SettingsForm.tsx"

export const SettingsCard = ({ view }: { readonly view: NamespaceView }) => {
  const may = useMay()
  const [isEditing, setEditing] = useState(false)
  return (
    <section className="card" aria-labelledby="settings-title">
      <header className="card-head">
        <h2 id="settings-title">Settings</h2>
        {!isEditing && may("namespaces.write", view.namespace) && (
          <Button isSmall icon="edit" onClick={() => setEditing(true)}>
            Edit
          </Button>
        )}
      </header>
      <div className="card-body">
        {isEditing ? (
          <SettingsForm view={view} onClose={() => setEditing(false)} />
        ) : (
          <SettingsFacts view={view} />
        )}
      </div>
    </section>
  )
}

const SettingsFacts = ({ view }: { readonly view: NamespaceView }) => {
  const { maxPending, maxInFlight, createsPerSecond, retryPolicy, onDead, updatedAt } = view
  return (
    <dl className="facts">
      <dt>Pending timers</dt>
      <dd>
        {maxPending === undefined ? <Default text="as many as the service allows" /> : atMost(maxPending)}
      </dd>
      <dt>Attempts at once</dt>
      <dd>
        {maxInFlight === undefined ? <Default text="as many as the service allows" /> : atMost(maxInFlight)}
      </dd>
      <dt>Creates</dt>
      <dd>
        {createsPerSecond === undefined ? (
          <Default text="no limit" />
        ) : (
          `${atMost(createsPerSecond)} a second`
        )}
      </dd>
      <dt>Retries</dt>
      <dd>
        {retryPolicy === undefined ? (
          <Default text="10 attempts over about a day" />
        ) : (
          policyText(retryPolicy)
        )}
      </dd>
      <dt>When a timer dies</dt>
      <dd>{onDead === undefined ? <Default text="nobody is told" /> : onDeadText(onDead)}</dd>
      <dt>Changed</dt>
      <dd>
        {updatedAt === undefined ? (
          <span className="muted">never</span>
        ) : (
          <Moment at={updatedAt} show="both" />
        )}
      </dd>
    </dl>
  )
}

const Default = ({ text }: { readonly text: string }) => (
  <>
    {text} <span className="muted">(default)</span>
  </>
)

const atMost = (count: number): string => `at most ${count.toLocaleString("en")}`

const onDeadText = (target: NonNullable<NamespaceView["onDead"]>): string =>
  target.type === "event" ? "an event on the bus" : `${target.method} ${target.url}`
