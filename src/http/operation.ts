/** The types of an operation in the OpenAPI document, and of its parts. */
import type { JsonSchema } from "../schema/json_schema.ts";

/** @ignore Extensions: members whose names begin with `x-`. Tools may ignore them. */
export interface OpenAPIExtensions {
  /** An extension. */
  [name: `x-${string}`]: unknown;
}

/** A link to documentation. */
export interface OpenAPIExternalDocs extends OpenAPIExtensions {
  /** The URL. */
  url: string;
  /** The description. */
  description?: string;
}

/** A server of an application. */
export interface OpenAPIServer extends OpenAPIExtensions {
  /** Before the paths, absolute or on the host of the document. Names in braces are variables. */
  url: string;
  /** The description. */
  description?: string;
  /** The variables of the URL, by name. */
  variables?: Record<string, OpenAPIServerVariable>;
}

/** A variable in the URL of a server. */
export interface OpenAPIServerVariable extends OpenAPIExtensions {
  /** The default value. */
  default: string;
  /** The allowed values. */
  enum?: string[];
  /** The description. */
  description?: string;
}

/** @ignore The methods of a path item in OpenAPI 3.1, except TRACE, which is never served. */
export type OpenAPIMethod = "get" | "put" | "post" | "delete" | "options" | "head" | "patch";

/** An operation: one method of a path. */
export interface OpenAPIOperation extends OpenAPIExtensions {
  /** The name of the operation, unique in the document. */
  operationId: string;
  /** The summary in one line. */
  summary?: string;
  /** The description. */
  description?: string;
  /** The groups that the operation belongs to. */
  tags?: string[];
  /** Whether clients should use another operation. */
  deprecated?: true;
  /** The parameters in path, query, headers and cookies. */
  parameters?: OpenAPIParameter[];
  /** The request body. */
  requestBody?: OpenAPIRequestBody;
  /** The replies by status. */
  responses: Record<string, OpenAPIResponse | OpenAPIReference>;
  /** Alternatives: scopes by the name of the scheme. An empty one requires no credentials. */
  security?: Record<string, string[]>[];
  /** The requests that the server sends because of this one, by name. */
  callbacks?: Record<string, OpenAPICallback | OpenAPIReference>;
  /** Other servers of the operation. Only `document` can add them. */
  servers?: OpenAPIServer[];
  /** Further documentation. Only `document` can add it. */
  externalDocs?: OpenAPIExternalDocs;
}

/** Requests of the server by URLs: runtime expressions such as `{$request.body#/callback}`. */
export interface OpenAPICallback {
  /** The requests to a URL; extensions have names that begin with `x-`. */
  [expression: string]: OpenAPICallbackItem;
}

/** @ignore The requests of a callback or a webhook, by method. */
export interface OpenAPICallbackItem
  extends
    OpenAPIExtensions,
    Partial<Record<OpenAPIMethod, Omit<OpenAPIOperation, "operationId"> & { operationId?: string }>> {
  /** The summary in one line. */
  summary?: string;
  /** The description. */
  description?: string;
}

/** An example of a value. It has a `value` or an `externalValue`. */
export interface OpenAPIExample extends OpenAPIExtensions {
  /** The summary in one line. */
  summary?: string;
  /** The description. */
  description?: string;
  /** The value. */
  value?: unknown;
  /** The URL of the value. */
  externalValue?: string;
}

/**
 * An operation that clients may call after a reply. It has an `operationId` or an `operationRef`.
 */
export interface OpenAPILink extends OpenAPIExtensions {
  /** The name of the operation. */
  operationId?: string;
  /** The URI of the operation. */
  operationRef?: string;
  /** Its parameters by name: values, or runtime expressions such as `$response.body#/id`. */
  parameters?: Record<string, unknown>;
  /** Its body: a value, or a runtime expression. */
  requestBody?: unknown;
  /** The description. */
  description?: string;
  /** Its server. */
  server?: OpenAPIServer;
}

/** A parameter in the path, the query, a header or a cookie. */
export interface OpenAPIParameter extends OpenAPIExtensions {
  /** The name. */
  name: string;
  /** Where the parameter is sent. */
  in: "path" | "query" | "header" | "cookie";
  /** Whether it is required. */
  required: boolean;
  /** The meaning of the parameter. */
  description?: string;
  /** Whether clients should no longer send it. */
  deprecated?: boolean;
  /** How an array is sent: with `form` and `explode`, the name is repeated for each element. */
  style?: "form";
  /** Whether the name is repeated for each element of an array. */
  explode?: true;
  /** The value after its text is parsed. */
  schema: JsonSchema;
}

/** The body of a request. */
export interface OpenAPIRequestBody extends OpenAPIExtensions {
  /** How to write the body, as far as the schema and the encoding cannot express it. */
  description?: string;
  /** Whether it is required. */
  required: boolean;
  /** The body by media type. */
  content: Record<string, OpenAPIMediaType>;
}

/** A reply. */
export interface OpenAPIResponse extends OpenAPIExtensions {
  /** The meaning of the reply. */
  description: string;
  /** The headers by name. */
  headers?: Record<string, OpenAPIHeader>;
  /** The body by media type; absent if there is no body. */
  content?: Record<string, OpenAPIMediaType>;
  /** The operations that may follow, by name. */
  links?: Record<string, OpenAPILink | OpenAPIReference>;
}

/** A header of a reply. */
export interface OpenAPIHeader extends OpenAPIExtensions {
  /** The meaning of the header. */
  description?: string;
  /** Whether each such reply has it. */
  required?: true;
  /** Whether clients should no longer read it. */
  deprecated?: boolean;
  /** The value. */
  schema: JsonSchema;
}

/** A body of one media type. */
export interface OpenAPIMediaType extends OpenAPIExtensions {
  /** The schema of the body; any value if absent. */
  schema?: JsonSchema;
  /** An example of the body. Only `document` can add it. */
  example?: unknown;
  /** Examples of the body, by name. */
  examples?: Record<string, OpenAPIExample | OpenAPIReference>;
  /** The schema of each item of a stream. OpenAPI has `itemSchema` from 3.2 on. */
  "x-itemSchema"?: JsonSchema;
  /** How the fields of a form are sent, by name. */
  encoding?: Record<string, OpenAPIEncoding>;
}

/** How a field of a form is sent. */
export interface OpenAPIEncoding {
  /** The media types of a file, separated by commas. */
  contentType?: string;
  /**
   * With `form` and `explode`, the name is repeated for each element of an array. With
   * `deepObject`, the keys of an object are in brackets.
   */
  style?: "form" | "deepObject";
  /** Whether each element or key is sent separately. */
  explode?: true;
}

/** @ignore A reference to an entry of `components`. */
export interface OpenAPIReference {
  /** The entry, as a URI fragment. */
  $ref: string;
}
