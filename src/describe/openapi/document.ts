/** The OpenAPI document as a type: the part of OpenAPI 3.1.0 that webfw writes. */
import type { SecurityScheme } from "../../binding/security.ts";
import type { JsonSchema } from "../json_schema/json_schema.ts";

/** An OpenAPI document. */
export interface OpenAPIDocument {
  /** The version of OpenAPI. */
  openapi: "3.1.0";
  /** What the application is. */
  info: OpenAPIInfo;
  /** The operations by path. */
  paths: Record<string, OpenAPIPathItem>;
  /** What operations refer to. */
  components: OpenAPIComponents;
  /** The tags of all operations, in the order of their first use. */
  tags?: OpenAPITag[];
}

/** What an application is. */
export interface OpenAPIInfo {
  /** Its title. */
  title: string;
  /** Its own version. */
  version: string;
  /** What it is for. */
  description?: string;
}

/** A tag. */
export interface OpenAPITag {
  /** Its name. */
  name: string;
}

/** The methods that OpenAPI 3.1 has a place for, but for TRACE, which is never served. */
export type OpenAPIMethod = "get" | "put" | "post" | "delete" | "options" | "head" | "patch";

/** The operations of a path, by method. */
export interface OpenAPIPathItem extends Partial<Record<OpenAPIMethod, OpenAPIOperation>> {
  /**
   * Operations of methods that OpenAPI has no place for before 3.2.
   *
   * The name is not the registered one, which begins with `x-oai-`: openapi-generator refuses it.
   */
  "x-additionalOperations"?: Record<string, OpenAPIOperation>;
}

/** What a route takes and gives. */
export interface OpenAPIOperation {
  /** Its name, unique in the document. */
  operationId: string;
  /** What it does, in a line. */
  summary?: string;
  /** What it does, at length. */
  description?: string;
  /** What it belongs to. */
  tags?: string[];
  /** Whether clients should turn to another. */
  deprecated?: true;
  /** What it takes from the path, the query, headers and cookies. */
  parameters?: OpenAPIParameter[];
  /** The body that it takes. */
  requestBody?: OpenAPIRequestBody;
  /** What it gives, by status. */
  responses: Record<string, OpenAPIResponse | OpenAPIReference>;
  /** Ways to be let in, each by the names of security schemes with scopes: one is enough, and an empty one asks for nothing. */
  security?: Record<string, string[]>[];
}

/** A value of the path, the query, a header or a cookie. */
export interface OpenAPIParameter {
  /** Its name. */
  name: string;
  /** Where it stands. */
  in: "path" | "query" | "header" | "cookie";
  /** Whether it has to be sent. */
  required: boolean;
  /** What it means. */
  description?: string;
  /** Whether it should not be sent any more. */
  deprecated?: boolean;
  /** How a list is written: with `form`, and `explode`, the name is repeated for each element. */
  style?: "form";
  /** Whether the name is repeated for each element of a list. */
  explode?: true;
  /** What it may be, once it has been read from its text. */
  schema: JsonSchema;
}

/** The body of a request. */
export interface OpenAPIRequestBody {
  /** How it is written, where nothing else tells. */
  description?: string;
  /** Whether it has to be sent. */
  required: boolean;
  /** What it may be, by media type. */
  content: Record<string, OpenAPIMediaType>;
}

/** A reply. */
export interface OpenAPIResponse {
  /** What it means. */
  description: string;
  /** What it holds, by media type. Nothing where it has no body. */
  content?: Record<string, OpenAPIMediaType>;
}

/** A body of one media type. */
export interface OpenAPIMediaType {
  /** What the body is; anything, where nothing is said. */
  schema?: JsonSchema;
  /** What each element of a stream is, which OpenAPI has no word for before 3.2. */
  "x-itemSchema"?: JsonSchema;
  /** How the fields of a form are written, by their names. */
  encoding?: Record<string, OpenAPIEncoding>;
}

/** How a field of a form is written. */
export interface OpenAPIEncoding {
  /** The media types of a file, with commas between them. */
  contentType?: string;
  /** With `form`, and `explode`, the name is repeated for each element of a list; `deepObject` has the keys of an object in brackets. */
  style?: "form" | "deepObject";
  /** Whether each element or key comes by itself. */
  explode?: true;
}

/** Stands for something under `components`. */
export interface OpenAPIReference {
  /** Where it is. */
  $ref: string;
}

/** What operations refer to. */
export interface OpenAPIComponents {
  /** The models, by name. */
  schemas?: Record<string, JsonSchema>;
  /** Replies that many operations share. */
  responses?: Record<string, OpenAPIResponse>;
  /** The ways in which clients prove who they are. */
  securitySchemes?: Record<string, SecurityScheme>;
}
