// What the reference page of the service says beside the OpenAPI document: an introduction, and the terms of examples.
import type { Limits } from "@punctual/api/Limits"
import { makePunctualApi } from "@punctual/api/PunctualApi"
import { escapeHtml, prose } from "@punctual/http/reference/html"
import { openApiInSlices } from "@punctual/http/reference/openApiInSlices"
import type { ReferenceOptions } from "@punctual/http/reference/Reference"
import { curlOf, figure } from "@punctual/http/reference/renderCall"
import type { PageTerms } from "@punctual/http/reference/renderPage"

export const timerReference = (limits: Limits): ReferenceOptions => ({
  document: () => openApiInSlices(makePunctualApi(limits)),
  introduction,
  examples: {
    base: "http://127.0.0.1:8080",
    keyVariable: "TIMER_API_KEY",
    webhookPath: "/hooks/timer",
  },
})

const firstTimer = {
  namespace: "demo",
  timerId: "hello",
  delay: "10s",
  callbackUrl: "http://127.0.0.1:9000/",
  payload: { text: "Hello" },
}

const introduction: PageTerms["introduction"] = [
  {
    id: "introduction",
    title: "Introduction",
    html: ({ document, examples }) => [
      `<p class="lead">${prose(document.info.description ?? "")}</p>` +
        `<p>Every call is a <code>POST</code> with a JSON body to <code><span class="base">${examples.base}</span></code>. Everything that names a timer is in the body, so ids need no escaping and stay out of access logs.</p>` +
        `<p>A timer is identified by its <code>namespace</code> and its <code>timerId</code>. When it is due, the service sends a <a href="#webhooks.timerFired">webhook</a>.</p>` +
        `<p>The whole contract is an <a href="../openapi.json">OpenAPI 3.1 document</a>, for programs.</p>`,
      figure("Your first timer", curlOf("post", "/api/v1/timers/create", firstTimer, examples)),
    ],
  },
  {
    id: "conventions",
    title: "Conventions",
    html: () => [
      `<ul class="plain">` +
        [
          "<b>Body.</b> Send <code>content-type: application/json</code>. A request with an unknown field is refused. Answers may get more fields within version 1.",
          "<b>Instants</b> are ISO 8601 with an offset. Answers have them in UTC with milliseconds. Fractions of a millisecond round up.",
          "<b>Durations</b> are <code>90s</code>, <code>1h30m</code>, <code>250ms</code>, <code>7d</code>, or ISO 8601 such as <code>PT90S</code>. There are no months and no years.",
          "<b>Safe repeats.</b> After a timeout you can repeat a create with the same fields and an <code>executeAt</code>. As long as the timer is pending or in the history, the answer is <code>unchanged</code> or <code>alreadyFinished</code>, and the timer fires once. This is not true if the timer was moved or cancelled in between: then the same create arms it again. If <code>executeAt</code> has passed, only <code>executeAt</code> is compared with the finished timer; the other fields of the repeat are dropped. A <code>delay</code> counts from the receipt of the request, so a repeat moves the timer.",
          "<b>Compare and set.</b> Send the <code>revision</code> that you read as <code>ifRevision</code>. If the timer has changed since, the service answers <code>409 revisionMismatch</code>.",
          "<b>Pages.</b> If an answer has <code>nextCursor</code>, send it as <code>cursor</code> to get the next page.",
        ]
          .map((text) => `<li>${text}</li>`)
          .join("") +
        "</ul>",
      figure(
        "Equal instants",
        escapeHtml('"2030-01-01T09:00:00Z"\n"2030-01-01T09:00:00.000Z"\n"2030-01-01T10:00:00+01:00"'),
      ) + figure("Equal durations", escapeHtml('"90s"\n"1m30s"\n"PT90S"')),
    ],
  },
  {
    id: "authorize-calls",
    title: "Authentication",
    html: ({ examples }) => [
      "<p>A service that has had a key answers only callers with a key. Send it with each call, in the header <code>authorization: Bearer &lt;key&gt;</code>. </p>" +
        `<p><button type="button" id="authorize" data-pressed="The examples send the key in ${examples.keyVariable}" aria-pressed="false" hidden>Authorize the examples of this page</button></p>` +
        "<p>A key may do certain actions in certain namespaces. Each call of this page names the action that it needs. Without <code>payload.read</code>, answers have neither payloads nor headers of targets. <code>keys/self</code> says what your key may do.</p>" +
        "<p>An administrator makes keys: <code>punctual keys create</code>, or the call <code>keys/create</code>.</p>",
      figure("Who am I?", curlOf("post", "/api/v1/keys/self", {}, examples)),
    ],
  },
]
