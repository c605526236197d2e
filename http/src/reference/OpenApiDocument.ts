// The parts of an OpenAPI document that the reference page reads. This process makes the document from the definition
// of the contract, so its shape is known.
import type { actionField } from "@punctual/api/openApiDocument"

export interface OpenApiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly tags: ReadonlyArray<{ readonly name: string; readonly description?: string }>
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly webhooks: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly examples: Readonly<Record<string, ExampleOfBody>>
  }
}

export interface Operation {
  readonly operationId: string
  readonly tags: ReadonlyArray<string>
  readonly summary: string
  readonly description?: string
  readonly [actionField]?: string
  readonly parameters: ReadonlyArray<Parameter>
  readonly requestBody?: { readonly description?: string; readonly content: Bodies }
  readonly responses: Readonly<Record<string, DocumentedAnswer>>
}

export interface Parameter {
  readonly name: string
  readonly description?: string
  readonly required?: boolean
  readonly schema: JsonSchema
  readonly example?: string
}

export interface DocumentedAnswer {
  readonly description: string
  readonly headers?: Readonly<Record<string, { readonly description?: string; readonly schema: JsonSchema }>>
  readonly content?: Bodies
}

/** The keys are media types. */
export type Bodies = Readonly<Record<string, Body>>

export interface Body {
  readonly schema: JsonSchema
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, ExampleOfBody>>
}

export interface ExampleOfBody {
  readonly $ref?: string
  readonly summary?: string
  readonly value?: unknown
}

export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string
  readonly format?: string
  readonly description?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: boolean | JsonSchema
  readonly items?: JsonSchema
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly oneOf?: ReadonlyArray<JsonSchema>
  readonly allOf?: ReadonlyArray<JsonSchema>
  readonly not?: JsonSchema
}

/** The only body of a request or an answer, of any media type. */
export const bodyOf = (bodies: Bodies | undefined): Body | undefined => Object.values(bodies ?? {})[0]

/** The name in a reference to a component. */
export const nameInRef = (ref: string): string => ref.slice(ref.lastIndexOf("/") + 1)
