/** The headers whose values a tenant hides. Everyone who may read calls sees the names. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Button } from "../kit/Button.tsx"
import { CloseButton, Dialog } from "../kit/Dialog.tsx"
import { ProblemScreen } from "../kit/ProblemScreen.tsx"
import { Loading } from "../kit/Screen.tsx"
import { useMay } from "../kit/self.ts"
import { toast } from "../kit/toasts.tsx"
import { WordsField } from "../kit/WordsField.tsx"
import { getSettings, putSettings } from "./agentApi.ts"

export interface TenantSettingsDialogProps {
  readonly tenant: string
  readonly onClose: () => void
}

const always = "Authorization, Proxy-Authorization, Cookie, Set-Cookie and X-Api-Key"

export const TenantSettingsDialog = ({ tenant, onClose }: TenantSettingsDialogProps) => {
  const queries = useQueryClient()
  const mayChange = useMay()("namespaces.write", tenant)
  const { data, error, refetch } = useQuery({
    queryKey: ["tenant-settings", tenant],
    queryFn: ({ signal }) => getSettings(tenant, signal),
    // What the reader edits must not change meanwhile.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  const [edited, setEdited] = useState<ReadonlyArray<string>>()
  const names = edited ?? data?.hiddenHeaders ?? []
  const save = useMutation({
    mutationFn: () => putSettings(tenant, { hiddenHeaders: names }),
    onSuccess: () => {
      toast("The settings are saved.")
      // Calls that are shown now may have values that are hidden from now on.
      void queries.invalidateQueries()
      onClose()
    },
  })
  return (
    <Dialog
      title={`Settings of ${tenant}`}
      onClose={onClose}
      actions={
        mayChange ? (
          <>
            <CloseButton onClick={onClose} />
            <Button
              look="primary"
              disabled={edited === undefined || save.isPending}
              onClick={() => save.mutate()}
            >
              Save
            </Button>
          </>
        ) : undefined
      }
    >
      {data === undefined ? (
        error === null ? (
          <Loading />
        ) : (
          <ProblemScreen what="The settings" error={error} onRetry={() => void refetch()} />
        )
      ) : mayChange ? (
        <WordsField
          label="Hidden headers"
          hint={`Nobody sees the values of these headers, in requests and in answers. ${always} are always hidden. Enter or a comma ends a name.`}
          placeholder="x-customer-token"
          words={names}
          error={save.error?.message}
          onChange={setEdited}
        />
      ) : (
        <p>
          {names.length === 0
            ? `This tenant hides the values of ${always} only.`
            : `This tenant hides the values of ${names.join(", ")}, beside ${always}.`}{" "}
          To change this, your key needs the action <code>namespaces.write</code>.
        </p>
      )}
    </Dialog>
  )
}
