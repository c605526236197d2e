/** Which program runs, and every setting in force. */
import { Button } from "../../kit/Button.tsx"
import { CopyButton } from "../../kit/CopyButton.tsx"
import { changeParameters } from "../../kit/places.ts"
import type { ServiceState } from "../api.ts"
import { usePlace } from "../location.ts"
import { useProgram } from "./useProgram.ts"

type SettingsInForce = NonNullable<ServiceState["settings"]>

export const ProgramCard = () => {
  const { data, error } = useProgram()
  return (
    <section className="card" aria-labelledby="program-title">
      <header className="card-head">
        <h2 id="program-title">Program and settings</h2>
        {data?.build !== undefined && <span className="muted">{buildText(data.build)}</span>}
      </header>
      {error !== null && (
        <p className="card-body field-error" role="alert">
          {error.message}
        </p>
      )}
      {data?.settings !== undefined && <SettingsTable settings={data.settings} />}
    </section>
  )
}

const buildText = ({ version, commit, builtAt }: NonNullable<ServiceState["build"]>): string =>
  `Punctual ${version}${commit === undefined ? ", from source" : `, commit ${commit}, built ${builtAt}`}`

const SettingsTable = ({ settings }: { readonly settings: SettingsInForce }) => {
  const showsAll = usePlace().parameters.get("settings") === "all"
  const given = settings.filter(({ isSet }) => isSet)
  const shown = showsAll ? settings : given
  const text = settings.map(({ name, value }) => `${name}=${value}`).join("\n")
  return (
    <>
      {shown.length === 0 ? (
        <p className="card-body muted">All settings have their defaults.</p>
      ) : (
        <div className="table-scroll">
          <table className="table settings-table">
            <thead>
              <tr>
                <th scope="col">Setting</th>
                <th scope="col">Value</th>
                {showsAll && <th scope="col">Set by</th>}
              </tr>
            </thead>
            <tbody>
              {shown.map(({ name, value, isSet }) => (
                <tr key={name}>
                  <td>
                    <code>{name}</code>
                  </td>
                  <td>{value === "" ? <span className="muted">empty</span> : <code>{value}</code>}</td>
                  {showsAll && <td>{isSet ? "an operator" : <span className="muted">default</span>}</td>}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <footer className="list-end muted figures">
        <span>
          {showsAll
            ? `${settings.length} settings, ${given.length} of them set by an operator`
            : given.length > 0 &&
              `${given.length} of ${settings.length} settings are set, the others have their defaults`}
        </span>
        <Button isSmall onClick={() => changeParameters({ settings: showsAll ? undefined : "all" })}>
          {showsAll ? "Show only those that are set" : "Show all"}
        </Button>
        <CopyButton text={text} what="all settings" />
      </footer>
    </>
  )
}
