// A bus with undeliverable messages on it, a service that answers calls about them, and `punctual messages` commands
// that run against that service.
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { contractEndpoints } from "@punctual/api/contractEndpoints"
import { defaultLimits } from "@punctual/api/Limits"
import { Namespace } from "@punctual/api/Namespace"
import { type Problem, toProblemDocument } from "@punctual/api/Problem"
import { AggregateId } from "@punctual/bus/AggregateId"
import { Bus, type HandlerFailure, MessageRefused } from "@punctual/bus/Bus"
import { MessageType, type OutgoingEnvelope } from "@punctual/bus/Envelope"
import { EnvelopeId } from "@punctual/bus/EnvelopeId"
import { LocalBus } from "@punctual/bus/local/LocalBus"
import { UndeliverableMessages } from "@punctual/bus/UndeliverableMessages"
import { anonymous } from "@punctual/door/Caller"
import { Clock, Context, Effect, Exit, Layer, Logger, Result, Scope } from "effect"
import type { Call } from "../../../src/calls/Call.ts"
import { makeMessageCalls } from "../../../src/calls/MessageCalls.ts"
import type { Surroundings } from "../../../src/cli/frame/CommandRuntime.ts"
import { callTexts } from "../../../src/http/CallText.ts"
import { timerRouting, timerTopics } from "../../../src/messaging/timerRouting.ts"
import { type Ended, run } from "../CommandFixture.ts"

export type Kept = UndeliverableMessages["Service"]

/** Where the clock of the bus starts. */
const startMs = Date.UTC(2030, 0, 1)

export interface MessagesRig {
  readonly url: string
  readonly kept: Kept
  /** What the handler does with messages. At first it refuses them. */
  handle: (serviceCallId: string) => Effect.Effect<void, HandlerFailure>
  readonly handled: Array<string>
  /** Resolves when each message has been handled or is undeliverable. */
  send(...messages: ReadonlyArray<Partial<Sent>>): Promise<void>
  run(...args: ReadonlyArray<string>): Promise<Ended>
  /** Runs the command against the messages of this bus. */
  runOn(kept: Kept, args: ReadonlyArray<string>, surroundings?: Partial<Surroundings>): Promise<Ended>
  ids(namespace: string): Promise<ReadonlyArray<string>>
  [Symbol.asyncDispose](): Promise<void>
}

interface Sent {
  readonly namespace: string
  readonly serviceCallId: string
  /** Goes into the message unchanged, whether it is JSON or not. */
  readonly payloadJson: string
}

const topics = timerTopics("shared")

/** Each read of the clock is one tick later than the one before. */
const tickingClock = (clock: Clock.Clock, tickMs: number): Clock.Clock => {
  let nowMs = startMs
  return Object.assign(Object.create(clock), {
    currentTimeMillisUnsafe: () => {
      nowMs += tickMs
      return nowMs
    },
  })
}

export const messagesRig = async ({ tickMs = 1 } = {}): Promise<MessagesRig> => {
  const scope = Scope.makeUnsafe()
  const inScope = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>) =>
    Effect.runPromise(
      Effect.flatMap(Clock.clockWith(Effect.succeed), (clock) =>
        Effect.provideService(effect, Clock.Clock, tickingClock(clock, tickMs)),
      ).pipe(
        Effect.provideService(Scope.Scope, scope),
        // The bus warns about every undeliverable message. Here they are intended.
        Effect.provide(Logger.layer([])),
      ),
    )
  const services = await inScope(Layer.build(LocalBus.layer(timerRouting(topics))))
  const { publish, subscribe } = Context.get(services, Bus)
  const kept = Context.get(services, UndeliverableMessages)
  let shown = kept
  const server = await serving(() => shown)
  const rig: MessagesRig = {
    url: server.url,
    kept,
    handled: [],
    handle: () => Effect.fail(new MessageRefused({ message: "no such plan" })),
    send: (...messages) => Effect.runPromise(Effect.asVoid(publish(messages.map(envelopeOf)))),
    run: (...args) => rig.runOn(kept, args),
    runOn: (other, args, surroundings = {}) => {
      shown = other
      return run(["messages", ...args], { environmentUrl: server.url, ...surroundings })
    },
    ids: async (namespace) => {
      const { messages } = await Effect.runPromise(kept.list(namespace, { limit: 1_000 }))
      return messages.map(({ id }) => id)
    },
    [Symbol.asyncDispose]: async () => {
      await server.close()
      await Effect.runPromise(Scope.close(scope, Exit.void))
    },
  }
  await inScope(
    subscribe({
      group: "punctual",
      topic: topics.commands,
      types: new Set(["ScheduleTimer"]),
      handle: ({ envelope: { aggregateId } }) =>
        Effect.andThen(
          rig.handle(aggregateId),
          Effect.sync(() => rig.handled.push(aggregateId)),
        ),
      observe: () => {},
    }),
  )
  return rig
}

/** The calls about messages, as the service answers them. */
const serving = async (kept: () => Kept) => {
  const server = createServer(async (request, response) => {
    const chunks: Array<Buffer> = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const answered = await Effect.runPromise(
      Effect.match(answerTo(kept(), request.url ?? "", JSON.parse(text)), {
        onSuccess: (body) => ({ status: 200, body }),
        onFailure: (problem: Problem) => ({
          status: toProblemDocument(problem).status,
          body: JSON.stringify(toProblemDocument(problem)),
        }),
      }),
    )
    response.writeHead(answered.status, { "content-type": "application/json" }).end(answered.body)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
}

const answerTo = (kept: Kept, path: string, input: unknown): Effect.Effect<string, Problem> => {
  const endpoint = contractEndpoints(defaultLimits).find((known) => known.path === path)
  if (endpoint === undefined) throw new Error(`there is no call ${path}`)
  const calls: { readonly [name: string]: Call<never, unknown> } = { ...makeMessageCalls(kept) }
  const texts: {
    readonly [name: string]: { write?: (answer: never) => string | Promise<string> } | undefined
  } = callTexts.messages
  const call = calls[endpoint.name] as Call<unknown, unknown>
  const write = texts[endpoint.name]?.write as ((answer: unknown) => string | Promise<string>) | undefined
  const body = Result.getOrThrow(endpoint.decode(input))
  return Effect.flatMap(call({ body, caller: anonymous, receivedAt: 0 }), (answer) =>
    Effect.promise(async () =>
      write === undefined ? JSON.stringify(endpoint.encode(answer)) : write(answer),
    ),
  )
}

let sent = 0

const envelopeOf = (message: Partial<Sent>): OutgoingEnvelope => {
  const { namespace = "billing", serviceCallId = "invoice-1", payloadJson = "{}" } = message
  return {
    id: EnvelopeId.make(`01890a5d-ac96-774b-bcce-${(++sent).toString().padStart(12, "0")}`),
    type: MessageType.make("ScheduleTimer"),
    tenantId: Namespace.make(namespace),
    aggregateId: AggregateId.make(serviceCallId),
    timestampMs: startMs,
    payloadJson,
  }
}
