/** Where a reader finds a key, by the way in which the service runs. */
import { useState } from "react"
import { CopyButton } from "./CopyButton.tsx"
import { Segments } from "./Segments.tsx"

const sources = {
  clone: {
    label: "Clone",
    command: "npm run --silent punctual -- keys create --admin",
    text: "In the folder of the clone. It makes a new administrator's key in the store and prints it.",
  },
  executable: {
    label: "Executable",
    command: "punctual keys create --admin",
    text: "As the user of the service, with its settings. It makes a new administrator's key in the store and prints it.",
  },
  docker: {
    label: "Docker",
    command: "docker exec punctual punctual keys admin",
    text: "It prints the key in the file TIMER_ADMIN_KEY_FILE of the container. Put the name of your container first.",
  },
  kubernetes: {
    label: "Kubernetes",
    command: "kubectl exec deploy/punctual -- punctual keys admin",
    text: "It prints the key in the file TIMER_ADMIN_KEY_FILE of the pod. Use the name of your deployment.",
  },
} as const

type Source = keyof typeof sources

// `Object.keys` forgets the type of the names.
const names = Object.keys(sources) as ReadonlyArray<Source>

export const KeySources = () => {
  const [source, setSource] = useState<Source>("clone")
  const { command, text } = sources[source]
  return (
    <div className="key-sources">
      <Segments
        label="How does the service run?"
        value={source}
        options={names.map((name) => ({ value: name, label: sources[name].label }))}
        onChange={setSource}
      />
      <div className="command-line">
        <pre>{command}</pre>
        <CopyButton text={command} what="the command" />
      </div>
      <p className="muted">{text}</p>
    </div>
  )
}
