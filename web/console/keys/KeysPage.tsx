/** Who may call the service: the keys, what each may do, and until when. */
import type { ConfirmKeysAnswer } from "@punctual/api/Keys"
import { useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { KeySources } from "../../kit/KeySources.tsx"
import { changeParameters } from "../../kit/places.ts"
import { Loading, Screen } from "../../kit/Screen.tsx"
import { useMay, useSelf } from "../../kit/self.ts"
import { ApiProblem, call, type Self } from "../../kit/serviceCall.ts"
import { toast } from "../../kit/toasts.tsx"
import { usePlace } from "../location.ts"
import { RevokeKey, RevokeLeaked, RotateKey } from "./KeyDialogs.tsx"
import { KeyRows } from "./KeyRows.tsx"
import "./keys.css"
import { NewKey } from "./NewKey.tsx"
import { isAdministrator, namespacesText, rightsText } from "./rights.ts"
import { type ApiKey, useKeyRefresh, useKeys } from "./useKeys.ts"

type Step =
  | { readonly kind: "new" | "first" | "leaked" }
  | { readonly kind: "rotate" | "revoke"; readonly apiKey: ApiKey }

const KeysPage = () => {
  const self = useSelf()
  const may = useMay()
  const [step, setStep] = useState<Step>()
  const mayManage = may("keys.manage")
  const keys = useKeys(mayManage)
  const all = keys.data?.pages.flatMap((page) => page.keys) ?? []
  const hasNone = self?.keysRequired === false && keys.isSuccess && all.length === 0
  return (
    <>
      <header className="page-head">
        <h1>Keys</h1>
        {self !== undefined && !hasNone && (
          <Button onClick={() => setStep({ kind: "leaked" })}>Revoke a leaked key</Button>
        )}
        {mayManage && !hasNone && keys.isSuccess && (
          <Button look="primary" icon="plus" onClick={() => setStep({ kind: "new" })}>
            New key
          </Button>
        )}
      </header>
      {self === undefined ? (
        <Loading />
      ) : !mayManage ? (
        <NotManaged self={self} />
      ) : hasNone ? (
        <NoKeys onFirst={() => setStep({ kind: "first" })} />
      ) : (
        <KeyList self={self} keys={keys} all={all} onStep={setStep} />
      )}
      {step !== undefined && <StepDialog step={step} all={all} onClose={() => setStep(undefined)} />}
    </>
  )
}

export default KeysPage

interface StepDialogProps {
  readonly step: Step
  readonly all: ReadonlyArray<ApiKey>
  readonly onClose: () => void
}

const StepDialog = ({ step, all, onClose }: StepDialogProps) => {
  const self = useSelf()
  const refresh = useKeyRefresh()
  switch (step.kind) {
    case "new":
    case "first":
      return <NewKey isFirst={step.kind === "first"} onClose={onClose} onMade={refresh} />
    case "leaked":
      return <RevokeLeaked onClose={onClose} onChanged={refresh} />
    default: {
      const { apiKey } = step
      const parts = { apiKey, isOwn: apiKey.id === self?.keyId, onClose, onChanged: refresh }
      if (step.kind === "rotate") return <RotateKey {...parts} />
      const others = all.filter(({ id, state }) => id !== apiKey.id && state === "active")
      // The administrator's key in a file is not in the list.
      const isLast = isAdministrator(apiKey) && self?.keyId !== "admin" && !others.some(isAdministrator)
      return <RevokeKey {...parts} isLastAdministrator={isLast} />
    }
  }
}

interface KeyListProps {
  readonly self: Self
  readonly keys: ReturnType<typeof useKeys>
  readonly all: ReadonlyArray<ApiKey>
  readonly onStep: (step: Step) => void
}

const hasEnded = ({ state }: ApiKey): boolean => state === "revoked" || state === "expired"

const KeyList = ({ self, keys, all, onStep }: KeyListProps) => {
  const showsEnded = usePlace().parameters.get("ended") === "1"
  if (keys.isPending) return <Loading />
  if (keys.isError && all.length === 0) {
    const isForbidden = keys.error instanceof ApiProblem && keys.error.status === 403
    return (
      <Screen
        kind={isForbidden ? "forbidden" : "failed"}
        title={isForbidden ? "Your key may not manage keys" : "The keys could not be loaded"}
        actions={<Button onClick={() => void keys.refetch()}>Try again</Button>}
      >
        {keys.error.message}
      </Screen>
    )
  }
  const ended = all.filter(hasEnded).length
  const shown = showsEnded ? all : all.filter((apiKey) => !hasEnded(apiKey))
  return (
    <>
      {!self.keysRequired && (
        <p className="banner banner-warning">
          Calls need no key at present, because the service runs with TIMER_AUTH=off. Everyone who reaches it
          may do everything.
        </p>
      )}
      <Unconfirmed all={all} />
      <section className="card" aria-label="Keys">
        {shown.length === 0 ? (
          <Screen kind="noMatch" title="No key is active">
            {self.keyId === "admin" &&
              "You use the administrator's key in the file of the service. It is not in this list."}
          </Screen>
        ) : (
          <KeyRows
            keys={shown}
            ownId={self.keyId}
            onRotate={(apiKey) => onStep({ kind: "rotate", apiKey })}
            onRevoke={(apiKey) => onStep({ kind: "revoke", apiKey })}
          />
        )}
        <footer className="list-end muted figures">
          <span>{shown.length === 1 ? "1 key" : `${shown.length} keys`}</span>
          {ended > 0 && (
            <Button isSmall onClick={() => changeParameters({ ended: showsEnded ? undefined : "1" })}>
              {showsEnded
                ? "Hide keys that have ended"
                : `Show ${ended} that ${ended === 1 ? "has" : "have"} ended`}
            </Button>
          )}
          {keys.hasNextPage && (
            <Button isSmall disabled={keys.isFetchingNextPage} onClick={() => void keys.fetchNextPage()}>
              Load more
            </Button>
          )}
        </footer>
      </section>
    </>
  )
}

/** After a restore, the keys of the backup wait for an administrator. */
const Unconfirmed = ({ all }: { readonly all: ReadonlyArray<ApiKey> }) => {
  const refresh = useKeyRefresh()
  const waiting = all.filter(({ state }) => state === "unconfirmed").length
  if (waiting === 0) return null
  const confirm = async () => {
    try {
      const { confirmed } = await call<typeof ConfirmKeysAnswer.Encoded>("keys/confirm", { all: true })
      toast(confirmed.length === 1 ? "1 key works again." : `${confirmed.length} keys work again.`)
      refresh()
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), true)
    }
  }
  return (
    <div className="banner banner-warning">
      <span>
        The store was restored from a backup. {waiting === 1 ? "1 key does" : `${waiting} keys do`} not work
        until you confirm. A backup may contain keys that were revoked later: look at the list first.
      </span>
      <Button isSmall onClick={() => void confirm()}>
        Confirm all
      </Button>
    </div>
  )
}

const NotManaged = ({ self }: { readonly self: Self }) => (
  <Screen kind="forbidden" title="Your key may not manage keys">
    <p>
      You are signed in as <strong>{self.name}</strong>. Your key may do this in{" "}
      {namespacesText(self.namespaces)}: {rightsText(self.actions)}.
    </p>
    <p>Ask an administrator for a new key, or for other rights.</p>
  </Screen>
)

const NoKeys = ({ onFirst }: { readonly onFirst: () => void }) => (
  <section className="card no-keys">
    <h2>There are no keys, so everyone on this machine may do everything</h2>
    <p>
      A key says who calls, what they may do, and in which namespaces. Make one for each program and each
      person. From the first key on, every call needs one, for good. A service that other machines can reach
      does not start without a key.
    </p>
    <div>
      <Button look="primary" icon="plus" onClick={onFirst}>
        Make the first key
      </Button>
    </div>
    <h3>Or from a terminal</h3>
    <KeySources />
  </section>
)
