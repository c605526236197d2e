/** The secrets that sign the webhooks of a namespace. The service shows only their fingerprints. */
import { useState } from "react"
import { Badge } from "../../kit/Badge.tsx"
import { Button } from "../../kit/Button.tsx"
import { CloseButton, Dialog } from "../../kit/Dialog.tsx"
import { useMay } from "../../kit/self.ts"
import { toast } from "../../kit/toasts.tsx"
import type { NamespaceView } from "../api.ts"
import { NewSecret } from "./NewSecret.tsx"
import { usePutNamespace } from "./usePutNamespace.ts"

/** A namespace has one secret, and during a rotation two. */
const secretsMax = 2

export const SecretsCard = ({ view }: { readonly view: NamespaceView }) => {
  const { namespace, webhookSecrets } = view
  const may = useMay()
  const mayChange = may("namespaces.write", namespace)
  const [isMaking, setMaking] = useState(false)
  const [removing, setRemoving] = useState<string>()
  const isRotating = webhookSecrets.length === secretsMax
  return (
    <section className="card" aria-labelledby="secrets-title">
      <header className="card-head">
        <h2 id="secrets-title">Webhook secrets</h2>
        {mayChange && !isRotating && (
          <Button
            isSmall
            icon={webhookSecrets.length === 0 ? "plus" : "replay"}
            onClick={() => setMaking(true)}
          >
            {webhookSecrets.length === 0 ? "Make a secret" : "Rotate"}
          </Button>
        )}
      </header>
      <div className="card-body secrets-body">
        {webhookSecrets.length === 0 && (
          <p className="muted">
            Webhooks of this namespace are not signed. Receivers cannot check who sent them.
          </p>
        )}
        <ul className="secrets">
          {webhookSecrets.map(({ fingerprint }, index) => (
            <li key={fingerprint}>
              <code title="The fingerprint of the secret">{fingerprint}</code>
              {isRotating && (
                <Badge tone={index === 0 ? "accent" : "neutral"}>{index === 0 ? "new" : "old"}</Badge>
              )}
              {mayChange && (
                <Button
                  look="quiet"
                  isSmall
                  icon="trash"
                  label={`Remove the secret ${fingerprint}`}
                  onClick={() => setRemoving(fingerprint)}
                />
              )}
            </li>
          ))}
        </ul>
        {isRotating && (
          <p className="muted">
            A rotation is under way: webhooks carry both signatures. Give all receivers the new secret, then
            remove the old one.
          </p>
        )}
      </div>
      {isMaking && <NewSecret view={view} onClose={() => setMaking(false)} />}
      {removing !== undefined && (
        <RemoveSecret view={view} fingerprint={removing} onClose={() => setRemoving(undefined)} />
      )}
    </section>
  )
}

interface RemoveSecretProps {
  readonly view: NamespaceView
  readonly fingerprint: string
  readonly onClose: () => void
}

const RemoveSecret = ({ view: { namespace, webhookSecrets }, fingerprint, onClose }: RemoveSecretProps) => {
  const put = usePutNamespace(namespace)
  const kept = webhookSecrets.filter((secret) => secret.fingerprint !== fingerprint)
  const act = async () => {
    await put.mutateAsync({ webhookSecrets: kept.length === 0 ? null : kept })
    toast("The secret is removed.")
    onClose()
  }
  return (
    <Dialog
      title="Remove the secret?"
      onClose={onClose}
      actions={
        <>
          <CloseButton onClick={onClose} />
          <Button
            look="danger"
            icon="trash"
            disabled={put.isPending}
            // A failure is shown in the dialog.
            onClick={() => void act().catch(() => undefined)}
          >
            Remove
          </Button>
        </>
      }
    >
      <p>
        <code>{fingerprint}</code>
      </p>
      <p>
        {kept.length === 0
          ? "It is the only secret. From then on, webhooks of this namespace are not signed, and receivers that check signatures refuse them."
          : "From then on, webhooks are signed only with the other secret. Receivers that still use this one refuse them."}
      </p>
      {put.error !== null && (
        <p className="field-error" role="alert">
          {put.error.message}
        </p>
      )}
    </Dialog>
  )
}
