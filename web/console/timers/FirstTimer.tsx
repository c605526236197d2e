/** What a new service shows: how to make the first timer. */
import { CopyButton } from "../../kit/CopyButton.tsx"
import { Link } from "../../kit/Link.tsx"
import { Screen } from "../../kit/Screen.tsx"
import { useMay, useSelf } from "../../kit/self.ts"
import { serviceUrl } from "../../kit/serviceUrl.ts"
import { curlText, membersOfObject } from "../copy/copyAs.ts"
import { hrefOf } from "../location.ts"

const example = {
  namespace: "demo",
  timerId: "hello",
  delay: "1m",
  callbackUrl: "http://127.0.0.1:9000/hook",
  payload: { n: 1 },
}

export const FirstTimer = () => {
  const may = useMay()
  const needsKey = useSelf()?.keysRequired === true
  const command = curlText(
    { path: "timers/create", members: membersOfObject(example) },
    { url: serviceUrl(), needsKey },
  )
  return (
    <Screen
      kind="empty"
      title="Nothing is pending"
      actions={
        may("timers.write") && (
          <Link className="button button-primary" href={hrefOf("new")}>
            New timer
          </Link>
        )
      }
    >
      <p>A timer delivers a payload to a target at a time. Make one here, or from a terminal:</p>
      <div className="command">
        <pre>{command}</pre>
        <CopyButton text={command} what="the command" />
      </div>
    </Screen>
  )
}
