/** The types of the OpenAPI document: the part of OpenAPI 3.1.0 that webfw writes. */
import type { SecurityScheme } from "../../binding/security.ts";
import type {
  OpenAPICallback,
  OpenAPICallbackItem,
  OpenAPIExample,
  OpenAPIExtensions,
  OpenAPIExternalDocs,
  OpenAPILink,
  OpenAPIMethod,
  OpenAPIOperation,
  OpenAPIReference,
  OpenAPIResponse,
  OpenAPIServer,
} from "../../http/operation.ts";
import type { JsonSchema } from "../../schema/json_schema.ts";

/** An OpenAPI document. */
export interface OpenAPIDocument extends OpenAPIExtensions {
  /** The version of OpenAPI. */
  openapi: "3.1.0";
  /** Title and version of the application. */
  info: OpenAPIInfo;
  /** The servers of the application; by default the host of the document. */
  servers?: OpenAPIServer[];
  /** The operations by path. */
  paths: Record<string, OpenAPIPathItem>;
  /** The definitions that operations refer to. */
  components: OpenAPIComponents;
  /** The requests that the application sends to others, by name. */
  webhooks?: Record<string, OpenAPICallbackItem | OpenAPIReference>;
  /** The described tags, then those of operations in the order of their first use. */
  tags?: OpenAPITag[];
  /** Further documentation. */
  externalDocs?: OpenAPIExternalDocs;
}

/** The title, version, contact and license of an application. */
export interface OpenAPIInfo extends OpenAPIExtensions {
  /** The title. */
  title: string;
  /** The version of the application. */
  version: string;
  /** A summary in one line. */
  summary?: string;
  /** The description. */
  description?: string;
  /** The URL of the terms of service. */
  termsOfService?: string;
  /** The contact. */
  contact?: OpenAPIContact;
  /** The license of the API. */
  license?: OpenAPILicense;
}

/** The contact of an application. */
export interface OpenAPIContact extends OpenAPIExtensions {
  /** The name of a person or organization. */
  name?: string;
  /** The URL of a page. */
  url?: string;
  /** The e-mail address. */
  email?: string;
}

/** The license of an API. It has an `identifier` or a `url`, or neither. */
export interface OpenAPILicense extends OpenAPIExtensions {
  /** The name of the license. */
  name: string;
  /** An SPDX expression, such as `Apache-2.0`. */
  identifier?: string;
  /** The URL of the text. */
  url?: string;
}

/** A tag: a group of operations. */
export interface OpenAPITag extends OpenAPIExtensions {
  /** The name. */
  name: string;
  /** The description. */
  description?: string;
  /** Further documentation. */
  externalDocs?: OpenAPIExternalDocs;
}

/** The operations of a path, by method. */
export interface OpenAPIPathItem extends Partial<Record<OpenAPIMethod, OpenAPIOperation>>, OpenAPIExtensions {
  /**
   * Operations of other methods, by method. OpenAPI has `additionalOperations` from 3.2 on.
   *
   * The registered name begins with `x-oai-`, but openapi-generator refuses it.
   */
  "x-additionalOperations"?: Record<string, OpenAPIOperation>;
  /** A summary in one line. Only `document` can add it. */
  summary?: string;
  /** The description. Only `document` can add it. */
  description?: string;
  /** Other servers of the path. Only `document` can add them. */
  servers?: OpenAPIServer[];
}

/** The definitions that operations refer to. */
export interface OpenAPIComponents extends OpenAPIExtensions {
  /** The models by name. */
  schemas?: Record<string, JsonSchema>;
  /** Replies that operations share, by name. */
  responses?: Record<string, OpenAPIResponse>;
  /** The security schemes by name. */
  securitySchemes?: Record<string, SecurityScheme>;
  /** Examples that others refer to, by name. Only `document` can add them. */
  examples?: Record<string, OpenAPIExample>;
  /** Links that replies refer to, by name. Only `document` can add them. */
  links?: Record<string, OpenAPILink>;
  /** Callbacks that operations refer to, by name. Only `document` can add them. */
  callbacks?: Record<string, OpenAPICallback>;
}
