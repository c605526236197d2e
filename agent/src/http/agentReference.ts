// What the reference page of the agent says beside the OpenAPI document: an introduction, and the terms of examples.
import { AgentApi } from "@punctual/api/agent/AgentApi"
import { escapeHtml, prose } from "@punctual/http/reference/html"
import { openApiInSlices } from "@punctual/http/reference/openApiInSlices"
import type { ReferenceOptions } from "@punctual/http/reference/Reference"
import { curlOf, figure } from "@punctual/http/reference/renderCall"
import type { PageTerms } from "@punctual/http/reference/renderPage"

const firstCall = {
  name: "Hello",
  request: { method: "POST", url: "http://127.0.0.1:9000/hello", body: { text: "Hello" } },
  delay: "10s",
}

const calls = "/api/v1/tenants/demo/service-calls"

const introduction: PageTerms["introduction"] = [
  {
    id: "introduction",
    title: "Introduction",
    html: ({ document, examples }) => [
      `<p class="lead">${prose(document.info.description ?? "")}</p>` +
        `<p>All paths begin with <code><span class="base">${examples.base}</span>/api/v1</code>. A tenant's calls are below <code>/tenants/&lt;tenant&gt;/service-calls</code>. A tenant needs no setting up: its first call makes it.</p>` +
        `<p>The whole contract is an <a href="../openapi.json">OpenAPI 3.1 document</a>, for programs.</p>`,
      figure("Your first call", curlOf("post", calls, firstCall, examples)) +
        figure("What became of it", curlOf("get", calls, undefined, examples)),
    ],
  },
  {
    id: "conventions",
    title: "Conventions",
    html: () => [
      `<ul class="plain">` +
        [
          "<b>Body.</b> Send <code>content-type: application/json</code>. A request with an unknown field or parameter is refused. Answers may get more fields within version 1.",
          "<b>Ids in paths</b> are percent-encoded.",
          "<b>Instants</b> are ISO 8601 with an offset. Answers have them in UTC with milliseconds.",
          "<b>Durations</b> are <code>90s</code>, <code>1h30m</code>, <code>250ms</code>, <code>7d</code>, or ISO 8601 such as <code>PT90S</code>.",
          "<b>Safe repeats.</b> Give a <code>serviceCallId</code> or an <code>idempotencyKey</code>. Then you can repeat a submission after a timeout: the answer is <code>unchanged</code>, and the request is made once.",
          "<b>At most once.</b> The agent makes each request at most once, with the attempt's id in <code>Idempotency-Key</code>. If it cannot know whether the request was carried out, the call fails with <code>outcomeUnknown</code>.",
          "<b>Pages.</b> If an answer has <code>nextCursor</code>, send it as <code>cursor</code> to get the next page.",
        ]
          .map((text) => `<li>${text}</li>`)
          .join("") +
        "</ul>",
      figure("Equal durations", escapeHtml('"90s"\n"1m30s"\n"PT90S"')),
    ],
  },
  {
    id: "authorize-calls",
    title: "Authentication",
    html: ({ examples }) => [
      "<p>While keys are in force, send one with each call, in the header <code>authorization: Bearer &lt;key&gt;</code>.</p>" +
        `<p><button type="button" id="authorize" data-pressed="The examples send the key in ${examples.keyVariable}" aria-pressed="false" hidden>Authorize the examples of this page</button></p>` +
        "<p>A key may do certain actions in certain tenants (the namespaces of the key). Each call of this page names the action that it needs. Without <code>payload.read</code>, answers have neither headers nor bodies.</p>" +
        "<p>An administrator makes keys with <code>punctual keys create</code>.</p>",
      figure("Who am I?", curlOf("post", "/api/v1/keys/self", {}, examples)),
    ],
  },
]

export const agentReference = (): ReferenceOptions => ({
  document: () => openApiInSlices(AgentApi),
  introduction,
  examples: { base: "http://127.0.0.1:8090", keyVariable: "TIMER_API_KEY", webhookPath: "/" },
})
