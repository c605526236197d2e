/**
 * Makes a secret in the browser and gives it to the service. It is shown once, here: neither the service nor the console
 * can show it again.
 */
import { useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { CopyButton } from "../../kit/CopyButton.tsx"
import { CloseButton, Dialog } from "../../kit/Dialog.tsx"
import { formErrors } from "../../kit/formErrors.ts"
import type { NamespaceView } from "../api.ts"
import { makeSecret } from "./makeSecret.ts"
import { type PutAnswer, usePutNamespace } from "./usePutNamespace.ts"

export interface NewSecretProps {
  readonly view: NamespaceView
  readonly onClose: () => void
}

interface Made {
  readonly secret: string
  readonly sealingKey: PutAnswer["madeSealingKey"]
}

export const NewSecret = ({ view, onClose }: NewSecretProps) => {
  const [began] = useState(view)
  const { namespace, webhookSecrets: kept } = began
  const put = usePutNamespace(namespace)
  const [made, setMade] = useState<Made>()
  const [isWarned, setWarned] = useState(false)
  const make = async () => {
    const secret = makeSecret()
    // The new secret comes first: a receiver that checks only one signature checks the first.
    const { madeSealingKey } = await put.mutateAsync({ webhookSecrets: [secret, ...kept] })
    setMade({ secret, sealingKey: madeSealingKey })
  }
  const { others } = formErrors(put.error, [])
  if (made !== undefined) {
    return (
      <Dialog
        // Another dialog than the question, so that the focus moves into it.
        key="made"
        title="The new secret"
        // A secret that is closed by mistake is lost.
        onClose={() => (isWarned ? onClose() : setWarned(true))}
        actions={
          <Button look="primary" onClick={onClose}>
            I have stored it
          </Button>
        }
      >
        <MadeSecret made={made} isRotation={kept.length > 0} isWarned={isWarned} />
      </Dialog>
    )
  }
  return (
    <Dialog
      title={kept.length === 0 ? `Make a secret for ${namespace}?` : `Rotate the secret of ${namespace}?`}
      onClose={onClose}
      actions={
        <>
          <CloseButton onClick={onClose} />
          <Button
            look="primary"
            disabled={put.isPending}
            // A failure is shown in the dialog.
            onClick={() => void make().catch(() => undefined)}
          >
            {kept.length === 0 ? "Make the secret" : "Make a new secret"}
          </Button>
        </>
      }
    >
      <ul className="consequences">
        <li>Your browser makes the secret, and the service stores it sealed.</li>
        <li>It is shown once, in the next step. Have a place ready to keep it.</li>
        {kept.length === 0 ? (
          <li>From then on, all webhooks of the namespace are signed with it.</li>
        ) : (
          <>
            <li>From then on, webhooks carry two signatures: with the new secret and with the old one.</li>
            <li>Give all receivers the new secret, then remove the old one here.</li>
          </>
        )}
      </ul>
      {others.map((text) => (
        <p key={text} className="field-error" role="alert">
          {text}
        </p>
      ))}
    </Dialog>
  )
}

interface MadeSecretProps {
  readonly made: Made
  readonly isRotation: boolean
  readonly isWarned: boolean
}

const MadeSecret = ({ made: { secret, sealingKey }, isRotation, isWarned }: MadeSecretProps) => (
  <>
    <p>
      Copy it now: it is not shown again. Give it to the receivers of the webhooks
      {isRotation ? ", then remove the old secret" : ""}.
    </p>
    <div className="secret-text">
      <code>{secret}</code>
      <CopyButton text={secret} what="the secret" />
    </div>
    {sealingKey !== undefined && (
      <div className="notice">
        <strong>The service made a key that seals secrets in its store.</strong>
        <span>
          It is in the file <code>{sealingKey.file}</code> on the machine of the service. Backups of the store
          do not contain it: copy the file to a safe place, apart from the backups. Without the key you must
          set new secrets.
        </span>
      </div>
    )}
    {isWarned && (
      <p className="field-error" role="alert">
        Have you stored the secret? If you close this now, nobody can read it again.
      </p>
    )}
  </>
)
