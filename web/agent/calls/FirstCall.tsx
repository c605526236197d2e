/** What a new tenant shows: how to make the first call. */
import { CopyButton } from "../../kit/CopyButton.tsx"
import { Link } from "../../kit/Link.tsx"
import { Screen } from "../../kit/Screen.tsx"
import { useMay, useSelf } from "../../kit/self.ts"
import { agentHref } from "../agentPlaces.ts"
import { submissionCurl } from "../curlTexts.ts"

const example = `{
  "name": "My first call",
  "request": { "method": "GET", "url": "http://127.0.0.1:9000/hello" },
  "delay": "10s"
}`

export const FirstCall = ({ tenant }: { readonly tenant: string }) => {
  const may = useMay()
  const command = submissionCurl(tenant, example, useSelf()?.keysRequired === true)
  return (
    <Screen
      kind="empty"
      title="There are no calls yet"
      actions={
        may("calls.write", tenant) && (
          <Link className="button button-primary" href={agentHref("request", tenant)}>
            New request
          </Link>
        )
      }
    >
      <p>
        A call is a request to another service, made now or at a time that you choose. Make one here, or from
        a terminal:
      </p>
      <div className="command-line">
        <pre>{command}</pre>
        <CopyButton text={command} what="the command" />
      </div>
    </Screen>
  )
}
