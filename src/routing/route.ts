/** The record of a route that answers requests: what the router, the document and tools are read off. */
import { isAsyncFunction, isAsyncGeneratorFunction } from "../binding/async_function.ts";
import { WITHOUT_BODY } from "../http/reply.ts";
import type { HttpRequest } from "../http/request.ts";
import type { RouteDeclaration } from "../http/route_info.ts";
import type { OptionNames } from "../options.ts";
import { quote } from "../quote.ts";
import { isForm } from "../schema/form_schema.ts";
import { isSchema, schemaFault } from "../schema/schema.ts";
import type { PathTemplate } from "./path.ts";
import { declaredParts, type MiddlewareScope, type RecordParts, RouteRecord } from "./route_record.ts";

/** Answers a request with its arguments. */
export type AnyHandler = (
  request: HttpRequest,
  args: never,
) => Promise<unknown> | AsyncGenerator<unknown>;

/** The options of a route. */
export const ROUTE_OPTIONS: OptionNames<RouteDeclaration> = {
  params: true,
  query: true,
  headers: true,
  cookies: true,
  body: true,
  form: true,
  deps: true,
  response: true,
  responses: true,
  status: true,
  summary: true,
  description: true,
  doc: true,
  tags: true,
  operationId: true,
  deprecated: true,
  tool: true,
  limits: true,
};

/** A route that answers requests. */
export class Route extends RouteRecord {
  readonly handler: AnyHandler;

  private constructor(parts: RecordParts, handler: AnyHandler) {
    super(parts);
    this.handler = handler;
  }

  /**
   * Checks a declaration and makes its record.
   *
   * @param method The method, in upper case.
   * @param path The path, with the prefix of its router.
   * @param options What was declared.
   * @param handler What answers.
   * @param scope Where it was declared.
   * @throws {TypeError} When the handler is not async, or an option is wrong.
   * @throws {RouteError} When the path cannot be read, or a name is bound twice.
   */
  static declare(
    method: string,
    path: string,
    options: RouteDeclaration,
    handler: unknown,
    scope: MiddlewareScope,
  ): Route {
    const name = `${method} ${path}`;
    checkHandler(handler, name);
    checkDeclaration(options, name);
    checkStatus(options, handler, name);
    return new Route(declaredParts(method, path, options, handler.name, scope), handler);
  }

  override under(prefix: PathTemplate, scope: MiddlewareScope): Route {
    return new Route(this.partsUnder(prefix, scope), this.handler);
  }
}

function checkHandler(
  handler: unknown,
  name: string,
): asserts handler is AnyHandler {
  if (isAsyncFunction(handler) || isAsyncGeneratorFunction(handler)) return;
  const got = typeof handler === "function" ? "a sync function" : typeof handler;
  throw new TypeError(
    `Cannot register ${name}: the handler must be an async function, got ${got}; write async (request, args) => …`,
  );
}

function checkDeclaration(options: RouteDeclaration, name: string): void {
  const { response, body, tags } = options;
  if (tags !== undefined && !Array.isArray(tags)) {
    throw new TypeError(`Cannot register ${name}: "tags" must be a list of texts, write tags: ["books"]`);
  }
  for (
    const [key, schema] of Object.entries({
      response,
      body,
      ...options.responses,
    })
  ) {
    if (schema !== undefined && !isSchema(schema)) {
      throw new TypeError(
        `Cannot register ${name}: "${key}" ${schemaFault(schema)}`,
      );
    }
  }
  checkBody(options, name);
}

function checkBody({ body, form }: RouteDeclaration, name: string): void {
  if (body === undefined && form === undefined) return;
  if (name.startsWith("GET ") || name.startsWith("HEAD ")) {
    throw new TypeError(
      `Cannot register ${name}: a GET or HEAD request has no body, declare it under query`,
    );
  }
  if (form === undefined) return;
  if (!isForm(form)) {
    throw new TypeError(`Cannot register ${name}: "form" must be made by Form(), write form: Form(schema)`);
  }
  if (body !== undefined) {
    throw new TypeError(`Cannot register ${name}: a request has one body, leave out "body" or "form"`);
  }
}

function checkStatus({ status, response }: RouteDeclaration, handler: AnyHandler, name: string): void {
  if (status === undefined) return;
  if (!Number.isInteger(status) || status < 200 || status > 399) {
    throw new RangeError(
      `Cannot register ${name}: the status of a success must be from 200 to 399, got ${quote(status)}`,
    );
  }
  if (!WITHOUT_BODY.has(status)) return;
  const refusal = `Cannot register ${name}: a reply with status ${status} has no body`;
  if (isAsyncGeneratorFunction(handler)) {
    throw new TypeError(`${refusal}, and the handler streams one, leave out the status`);
  }
  if (response && response.type !== "void" && response.type !== "undefined") {
    throw new TypeError(`${refusal}, leave out the response model or the status`);
  }
}
