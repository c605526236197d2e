/**
 * Commands for a shell: the request itself, and its submission to the agent. The values may be anything, so every word is
 * quoted. A command never contains a key of the agent: it reads the key from a variable.
 */
import { serviceUrl } from "../kit/serviceUrl.ts"
import { shellWord } from "../kit/shellWord.ts"
import { callsPath } from "./agentApi.ts"

const keyVariable = "AGENT_API_KEY"
const between = " \\\n  "

export interface RequestToCopy {
  readonly method: string
  readonly url: string
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly body: string | undefined
}

/** Sends the request at once, without the agent. */
export const requestCurl = ({ method, url, headers, body }: RequestToCopy): string =>
  [
    method === "HEAD" ? "curl -s -I" : `curl -s -X ${shellWord(method)}`,
    shellWord(url),
    ...headers.map(([name, value]) => `-H ${shellWord(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`--data-raw ${shellWord(body)}`]),
  ].join(between)

/** `body`: the JSON text of the submission. */
export const submissionCurl = (tenant: string, body: string, needsKey: boolean): string =>
  [
    `curl -s ${shellWord(`${serviceUrl()}/api/v1/${callsPath(tenant)}`)}`,
    "-H 'content-type: application/json'",
    ...(needsKey ? [`-H "authorization: Bearer $${keyVariable}"`] : []),
    `--data-raw ${shellWord(body)}`,
  ].join(between)
