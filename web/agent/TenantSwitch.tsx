/** Shows the tenant, and changes it. A tenant begins with its first call, so the reader can type any name. */
import { type FormEvent, useState } from "react"
import { Button } from "../kit/Button.tsx"
import { Dialog } from "../kit/Dialog.tsx"
import { Field } from "../kit/Field.tsx"
import { focusedFirst } from "../kit/focusedFirst.ts"
import { Icon } from "../kit/Icon.tsx"
import { goTo } from "../kit/places.ts"
import { Screen } from "../kit/Screen.tsx"
import { useSetting } from "../kit/Setting.ts"
import { useShortcuts } from "../kit/shortcuts.ts"
import { agentHref } from "./agentPlaces.ts"
import { TenantSettingsDialog } from "./TenantSettingsDialog.tsx"
import { isTenant, tenantsSetting, useTenants, useTenantsOfKey } from "./tenant.ts"

export const TenantSwitch = ({ tenant }: { readonly tenant: string }) => {
  const [isOpen, setOpen] = useState(false)
  const [showsSettings, setShowsSettings] = useState(false)
  useShortcuts({ t: () => setOpen(true) })
  return (
    <>
      <button
        type="button"
        className="tenant-switch"
        title="Change the tenant (t)"
        onClick={() => setOpen(true)}
      >
        <span className="tenant-label">Tenant</span>
        <span className="tenant-name">{tenant}</span>
        <Icon name="down" />
      </button>
      {isOpen && (
        <Dialog
          title="Tenant"
          onClose={() => setOpen(false)}
          actions={
            <Button
              onClick={() => {
                setOpen(false)
                setShowsSettings(true)
              }}
            >
              Settings of {tenant}
            </Button>
          }
        >
          <ChooseTenant current={tenant} onChosen={() => setOpen(false)} />
        </Dialog>
      )}
      {showsSettings && <TenantSettingsDialog tenant={tenant} onClose={() => setShowsSettings(false)} />}
    </>
  )
}

/** What a page shows before there is a tenant. */
export const NoTenant = () => (
  <Screen kind="empty" title="Which tenant?" isPage>
    <p>Each tenant has its own calls. Type the name of yours. A new name begins with an empty list.</p>
    <ChooseTenant />
  </Screen>
)

interface ChooseTenantProps {
  readonly current?: string
  readonly onChosen?: () => void
}

const ChooseTenant = ({ current, onChosen }: ChooseTenantProps) => {
  const remembered = useSetting(tenantsSetting)
  const ofKey = useTenantsOfKey()
  const withCalls = useTenants() ?? []
  const [text, setText] = useState("")
  const [error, setError] = useState<string>()
  const choose = (tenant: string) => {
    goTo(agentHref("calls", tenant))
    onChosen?.()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isTenant(text.trim())) choose(text.trim())
    else setError("must be 1 to 100 characters of A-Z, a-z, 0-9, _ and -, and not begin with _")
  }
  const known = [...new Set([...remembered, ...ofKey, ...withCalls])]
  const matching = known.filter((tenant) => tenant.toLowerCase().includes(text.trim().toLowerCase()))
  return (
    <>
      <form className="tenant-form" onSubmit={submit}>
        <Field label="Name of the tenant" error={error}>
          {(attributes) => (
            <div className="tenant-row">
              <input
                {...attributes}
                ref={focusedFirst}
                value={text}
                placeholder="billing"
                maxLength={100}
                spellCheck={false}
                autoComplete="off"
                autoCapitalize="off"
                onChange={({ target }) => {
                  setText(target.value)
                  setError(undefined)
                }}
              />
              <Button look="primary" type="submit">
                Open
              </Button>
            </div>
          )}
        </Field>
      </form>
      <ul className="choices">
        {matching.map((tenant) => (
          <li key={tenant}>
            <button type="button" aria-pressed={tenant === current} onClick={() => choose(tenant)}>
              <span>{tenant}</span>
              {tenant === current && <span className="muted">open</span>}
            </button>
          </li>
        ))}
      </ul>
    </>
  )
}
