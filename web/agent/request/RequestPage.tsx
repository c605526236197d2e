/** Makes a request now or later, and shows its answer beside it. */
import { useQuery } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { ProblemScreen } from "../../kit/ProblemScreen.tsx"
import { changeParameters } from "../../kit/places.ts"
import { Loading, Screen } from "../../kit/Screen.tsx"
import { useMay } from "../../kit/self.ts"
import { getCall } from "../agentApi.ts"
import { useAgentPlace } from "../agentPlaces.ts"
import { AnswerPanel } from "./AnswerPanel.tsx"
import { RequestFields } from "./RequestFields.tsx"
import { draftOfCall, type RequestDraft } from "./requestDraft.ts"
import { useRequestForm } from "./useRequestForm.ts"
import "../call/call.css"
import "./request.css"

const RequestPage = ({ tenant }: { readonly tenant: string }) => {
  const { parameters } = useAgentPlace()
  const from = parameters.get("from") ?? ""
  const [edited, setEdited] = useState<{ readonly id: string; readonly initial: RequestDraft }>()
  const mayWrite = useMay()("calls.write", tenant)
  const { data, error, refetch } = useQuery({
    queryKey: ["call-to-edit", tenant, from],
    queryFn: ({ signal }) => getCall(tenant, from, signal),
    enabled: from !== "",
    // What the reader types must not be replaced.
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: false,
  })
  // The draft is the reader's from now on. Loading the page again must not bring the old request back.
  useEffect(() => {
    if (data === undefined || from === "") return
    setEdited({ id: from, initial: draftOfCall(data) })
    changeParameters({ from: undefined }, { replace: true })
  }, [data, from])
  if (!mayWrite) {
    return (
      <Screen kind="forbidden" title="Your key may only look" isPage>
        <p>
          To make requests it needs the action <code>calls.write</code> in the tenant {tenant}.
        </p>
      </Screen>
    )
  }
  if (from === "") {
    return (
      <RequestView
        key={edited?.id ?? ""}
        tenant={tenant}
        {...(edited === undefined ? {} : { initial: edited.initial })}
      />
    )
  }
  if (error !== null && data === undefined) {
    return <ProblemScreen what="The call to edit" error={error} onRetry={() => void refetch()} />
  }
  return <Loading />
}

export default RequestPage

interface RequestViewProps {
  readonly tenant: string
  readonly initial?: RequestDraft
}

const RequestView = ({ tenant, initial }: RequestViewProps) => {
  const { parameters } = useAgentPlace()
  const form = useRequestForm(tenant, initial)
  return (
    <>
      <header className="page-head">
        <h1>Request</h1>
      </header>
      <div className="request-columns">
        <RequestFields tenant={tenant} form={form} />
        <AnswerPanel tenant={tenant} id={parameters.get("shown") ?? undefined} />
      </div>
    </>
  )
}
