// Makes the OpenAPI document of an API one endpoint at a time. Effect makes it in one step, which takes a tenth of a
// second when the code is cold, and due timers would wait that long. Between two endpoints the thread can fire timers.
import { Context } from "effect"
import { HttpApi, HttpApiGroup, OpenApi } from "effect/http-api"
import { inSlices } from "./inSlices.ts"

type Document = Record<string, unknown>

/** The result equals the result of `OpenApi.fromApi`. */
export const openApiInSlices = async <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
): Promise<Document> => {
  const finish = Context.getOrElse(api.annotations, OpenApi.Transform, () => asItIs)
  const whole = HttpApi.make(api.identifier)
    .annotateMerge(api.annotations)
    .annotate(OpenApi.Transform, asItIs)
  const parts: Array<() => OpenApi.OpenAPISpec> = []
  HttpApi.reflect(api, {
    onGroup: () => undefined,
    onEndpoint: ({ group, endpoint }) => {
      const alone = HttpApiGroup.make(group.identifier).annotateMerge(group.annotations).add(endpoint)
      parts.push(() => OpenApi.fromApi(whole.add(alone)))
    },
  })
  const documents = await inSlices(parts, (make) => make())
  const [first] = documents
  if (first === undefined) throw new Error("the API has no endpoints")
  const schemas = documents.map((document) => document.components.schemas)
  const tags = new Map(documents.flatMap((document) => document.tags).map((tag) => [tag.name, tag]))
  return finish({
    ...first,
    paths: mergedPaths(documents.map((document) => document.paths)),
    components: { ...first.components, schemas: Object.assign({}, ...schemas) },
    tags: [...tags.values()],
  })
}

/** A path may have several methods, and each is in a document of its own. */
const mergedPaths = (all: ReadonlyArray<OpenApi.OpenAPISpec["paths"]>): OpenApi.OpenAPISpec["paths"] => {
  const merged: OpenApi.OpenAPISpec["paths"] = {}
  for (const paths of all) {
    for (const [path, methods] of Object.entries(paths)) merged[path] = { ...merged[path], ...methods }
  }
  return merged
}

const asItIs = (document: Document): Document => document
