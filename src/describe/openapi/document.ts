/** The types of the OpenAPI document: the part of OpenAPI 3.1.0 that webfw writes. */
import type { SecurityScheme } from "../../binding/security.ts";
import type { JsonSchema } from "../json_schema/json_schema.ts";

/** An OpenAPI document. */
export interface OpenAPIDocument {
  /** The version of OpenAPI. */
  openapi: "3.1.0";
  /** Title and version of the application. */
  info: OpenAPIInfo;
  /** The operations by path. */
  paths: Record<string, OpenAPIPathItem>;
  /** The definitions that operations refer to. */
  components: OpenAPIComponents;
  /** The tags of all operations, in the order of their first use. */
  tags?: OpenAPITag[];
}

/** Title and version of an application. */
export interface OpenAPIInfo {
  /** The title. */
  title: string;
  /** The version of the application. */
  version: string;
  /** The purpose of the application. */
  description?: string;
}

/** A tag. */
export interface OpenAPITag {
  /** The name. */
  name: string;
}

/** The methods of a path item in OpenAPI 3.1, except TRACE, which is never served. */
export type OpenAPIMethod = "get" | "put" | "post" | "delete" | "options" | "head" | "patch";

/** The operations of a path, by method. */
export interface OpenAPIPathItem extends Partial<Record<OpenAPIMethod, OpenAPIOperation>> {
  /**
   * Operations of other methods, by method. OpenAPI has `additionalOperations` from 3.2 on.
   *
   * The registered name begins with `x-oai-`, but openapi-generator refuses it.
   */
  "x-additionalOperations"?: Record<string, OpenAPIOperation>;
}

/** An operation: one method of a path. */
export interface OpenAPIOperation {
  /** The name of the operation, unique in the document. */
  operationId: string;
  /** What the operation does, in one line. */
  summary?: string;
  /** What the operation does, at length. */
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
  /**
   * The alternative security requirements: for each, scopes by the names of security schemes. One
   * has to be met; an empty one needs no credentials.
   */
  security?: Record<string, string[]>[];
}

/** A parameter in the path, the query, a header or a cookie. */
export interface OpenAPIParameter {
  /** The name. */
  name: string;
  /** The place of the parameter. */
  in: "path" | "query" | "header" | "cookie";
  /** Whether it has to be sent. */
  required: boolean;
  /** The meaning of the parameter. */
  description?: string;
  /** Whether clients should no longer send it. */
  deprecated?: boolean;
  /** How a list is sent: with `form` and `explode`, the name is repeated for each element. */
  style?: "form";
  /** Whether the name is repeated for each element of a list. */
  explode?: true;
  /** The value after its text is parsed. */
  schema: JsonSchema;
}

/** The body of a request. */
export interface OpenAPIRequestBody {
  /** How the body is written, if the schema and the encoding cannot say it. */
  description?: string;
  /** Whether it has to be sent. */
  required: boolean;
  /** The body by media type. */
  content: Record<string, OpenAPIMediaType>;
}

/** A reply. */
export interface OpenAPIResponse {
  /** The meaning of the reply. */
  description: string;
  /** The headers by name. */
  headers?: Record<string, OpenAPIHeader>;
  /** The body by media type; absent if there is no body. */
  content?: Record<string, OpenAPIMediaType>;
}

/** A header of a reply. */
export interface OpenAPIHeader {
  /** The meaning of the header. */
  description: string;
  /** The value. */
  schema: JsonSchema;
}

/** A body of one media type. */
export interface OpenAPIMediaType {
  /** The schema of the body; any value if absent. */
  schema?: JsonSchema;
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
   * With `form` and `explode`, the name is repeated for each element of a list. With `deepObject`,
   * the keys of an object stand in brackets.
   */
  style?: "form" | "deepObject";
  /** Whether each element or key is sent separately. */
  explode?: true;
}

/** A reference to an entry of `components`. */
export interface OpenAPIReference {
  /** The place of the entry, as a URI fragment. */
  $ref: string;
}

/** The definitions that operations refer to. */
export interface OpenAPIComponents {
  /** The models by name. */
  schemas?: Record<string, JsonSchema>;
  /** Replies that operations share, by name. */
  responses?: Record<string, OpenAPIResponse>;
  /** The security schemes by name. */
  securitySchemes?: Record<string, SecurityScheme>;
}
