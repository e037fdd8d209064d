// The operations of a document: their requests and replies.

import type { OpenAPIDocument, OpenAPIPathItem } from "../../../src/describe/openapi/document.ts";
import type {
  OpenAPIEncoding,
  OpenAPIOperation,
  OpenAPIParameter,
  OpenAPIResponse,
} from "../../../src/http/operation.ts";
import type { Schema, Schemas } from "./schemas.ts";

/** An operation. */
export interface Operation {
  /** Its method and path. */
  readonly name: string;
  /** In upper case. */
  readonly method: string;
  /** With names in braces. */
  readonly path: string;
  readonly parameters: readonly OpenAPIParameter[];
  readonly body: RequestBody | undefined;
  /** By status, or by a range of them such as `4XX`. */
  readonly replies: Readonly<Record<string, OpenAPIResponse>>;
  /** Ways to be let in, of which one is enough. */
  readonly security: readonly (readonly Credential[])[];
}

/** A body: JSON, a form, or bytes. */
export interface RequestBody {
  readonly isRequired: boolean;
  readonly type: string;
  readonly schema: Schema;
  /** How the fields of a form are written. */
  readonly encoding: Readonly<Record<string, OpenAPIEncoding>>;
}

/** The place of credentials of one kind. */
export interface Credential {
  readonly in: "header" | "query" | "cookie";
  readonly name: string;
  /** The text before them. */
  readonly prefix: string;
}

/** The methods that a path item has places for. */
const METHODS = ["get", "put", "post", "delete", "options", "head", "patch"] as const;

/** The operations of a document, by path. */
export function operationsOf(schemas: Schemas): Map<string, Operation[]> {
  const { paths } = schemas.document as OpenAPIDocument;
  return new Map(
    Object.entries(paths).map(([path, item]) => {
      const operations = Object.entries(methodsOf(item)).map(([method, operation]) => {
        return toOperation(method, path, operation, schemas);
      });
      return [path, operations];
    }),
  );
}

function methodsOf(item: OpenAPIPathItem): Record<string, OpenAPIOperation> {
  const methods: Record<string, OpenAPIOperation> = { ...item["x-additionalOperations"] };
  for (const method of METHODS) {
    const operation = item[method];
    if (operation) methods[method.toUpperCase()] = operation;
  }
  return methods;
}

function toOperation(method: string, path: string, operation: OpenAPIOperation, schemas: Schemas): Operation {
  const { parameters = [], requestBody, responses, security = [] } = operation;
  const replies = Object.entries(responses).map(([status, reply]) =>
    [status, schemas.settle<OpenAPIResponse>(reply)] as const
  );
  const [media] = Object.entries(requestBody?.content ?? {});
  return {
    name: `${method} ${path}`,
    method,
    path,
    parameters: parameters.map((parameter) => schemas.settle(parameter)),
    body: requestBody && media && {
      isRequired: requestBody.required,
      type: media[0],
      schema: media[1].schema ?? true,
      encoding: media[1].encoding ?? {},
    },
    replies: Object.fromEntries(replies),
    security: security.map((way) => Object.keys(way).flatMap((name) => credentialOf(name, schemas))),
  };
}

/** Empty if no part of a request carries them. */
function credentialOf(name: string, schemas: Schemas): Credential[] {
  const scheme = (schemas.document as OpenAPIDocument).components.securitySchemes![name]!;
  if (scheme.type === "apiKey") return [{ in: scheme.in, name: scheme.name, prefix: "" }];
  if (scheme.type !== "http") return [];
  const prefix = scheme.scheme.charAt(0).toUpperCase() + scheme.scheme.slice(1);
  return [{ in: "header", name: "authorization", prefix: `${prefix} ` }];
}

/** The document's reply for a status, or for its range. */
export function replyOf({ replies }: Operation, status: number): OpenAPIResponse | undefined {
  return replies[status] ?? replies[`${Math.floor(status / 100)}XX`] ?? replies.default;
}
