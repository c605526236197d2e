/** A namespace, with completion. A new name is as good as a known one: the first timer makes the namespace. */
import { useQuery } from "@tanstack/react-query"
import { useId } from "react"
import { Field } from "../../kit/Field.tsx"
import { useMay, useSelf } from "../../kit/self.ts"
import { useSettled } from "../../kit/useSettled.ts"
import type { NamespaceView } from "../api.ts"
import { namespaceViewsLike } from "../namespacesLike.ts"
import { isNamespaceName } from "./draftChecks.ts"

export interface NamespaceFieldProps {
  readonly namespace: string
  readonly error: string | undefined
  readonly onChange: (namespace: string) => void
}

const choicesMax = 20

export const NamespaceField = ({ namespace, error, onChange }: NamespaceFieldProps) => {
  const listId = useId()
  const known = useKnownNamespaces(namespace.trim())
  const name = useSettled(namespace.trim())
  const views = useNamespaceViews(name)
  const isNew = isNamespaceName(name) && views?.every((view) => view.namespace !== name) === true
  return (
    <Field
      label="Namespace"
      isRequired
      hint={isNew ? `${name} is new: the first timer creates it.` : undefined}
      error={error}
    >
      {(attributes) => (
        <>
          <input
            {...attributes}
            list={listId}
            value={namespace}
            placeholder="such as billing"
            spellCheck={false}
            autoComplete="off"
            onChange={({ target }) => onChange(target.value)}
          />
          <datalist id={listId}>
            {known.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  )
}

const useNamespaceViews = (prefix: string): ReadonlyArray<NamespaceView> | undefined => {
  const may = useMay()
  return useQuery({
    queryKey: ["namespace-views-like", prefix],
    queryFn: ({ signal }) => namespaceViewsLike(prefix, choicesMax, signal),
    enabled: may("namespaces.read") && (prefix === "" || isNamespaceName(prefix)),
    retry: false,
  }).data
}

/** What the service knows, or else what the key names. */
const useKnownNamespaces = (prefix: string): ReadonlyArray<string> => {
  const named = useSelf()?.namespaces.filter((rule) => !rule.endsWith("*")) ?? []
  return useNamespaceViews(prefix)?.map(({ namespace }) => namespace) ?? named
}

/** The settings of a namespace, if it has any and the reader may see them. */
export const useNamespaceView = (namespace: string): NamespaceView | undefined =>
  useNamespaceViews(namespace)?.find((view) => view.namespace === namespace)
