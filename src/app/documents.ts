/** The documents of an application: OpenAPI, and AsyncAPI. */
import { load } from "../base/async_context.ts";
import type { OpenAPIDocument } from "../describe/openapi/document.ts";
import type { DocumentOptions } from "../describe/openapi/document_options.ts";
import { openapiDocument } from "../describe/openapi/openapi.ts";
import type { DocumentedErrors } from "../describe/openapi/replies.ts";
import { isDocumented, type Registry } from "../routing/registry.ts";
import type { DeclaredTopic } from "../topics/topics.ts";

interface DocumentsParts {
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly description: string | undefined;
  };
  /** Options of the documents only. */
  readonly described: DocumentOptions;
  readonly registry: Registry;
  readonly topics: { readonly declared: readonly DeclaredTopic[] };
}

/** Makes the documents on demand, and again after new routes. */
export class Documents {
  readonly #parts: DocumentsParts;
  #errors: DocumentedErrors = "default";
  #made: { readonly routes: number; readonly document: OpenAPIDocument } | undefined;

  constructor(parts: DocumentsParts) {
    this.#parts = parts;
  }

  set errors(errors: DocumentedErrors) {
    this.#errors = errors;
    this.#made = undefined;
  }

  /**
   * The OpenAPI document.
   *
   * @throws {TypeError} If JSON Schema cannot express a schema, or `document` gives no document.
   * @throws {Error} If `document` throws.
   */
  openapi(): OpenAPIDocument {
    const { info, described, registry } = this.#parts;
    const routes = registry.routes.filter(isDocumented);
    // Routes are never removed, so their number shows whether the document is up to date.
    if (this.#made?.routes !== routes.length) {
      registry.nameOperations();
      const document = openapiDocument({ ...described, ...info, routes, errors: this.#errors });
      this.#made = { routes: routes.length, document };
    }
    return this.#made.document;
  }

  /**
   * The AsyncAPI document.
   *
   * @throws {TypeError} If JSON Schema cannot express a schema.
   */
  async asyncapi(): Promise<object> {
    const { asyncapiDocument } = await load(() => import("../describe/asyncapi/asyncapi.ts"));
    const { info, described, registry, topics: { declared } } = this.#parts;
    registry.nameOperations();
    return asyncapiDocument({ ...described, ...info, routes: registry.routes, topics: declared });
  }
}
