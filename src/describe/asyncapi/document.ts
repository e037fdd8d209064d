/** The types of the AsyncAPI document: the part of AsyncAPI 3.0.0 that webfw writes. */
import type { SecurityScheme } from "../../binding/security.ts";
import type { JsonSchema } from "../../schema/json_schema.ts";
import type { OpenAPIInfo, OpenAPILicense, OpenAPITag } from "../openapi/document.ts";
import type { OpenAPIExternalDocs, OpenAPIServerVariable } from "../../http/operation.ts";

export interface AsyncAPIDocument {
  asyncapi: "3.0.0";
  info: AsyncAPIInfo;
  defaultContentType: "application/json";
  servers?: Record<string, AsyncAPIServer>;
  channels: Record<string, AsyncAPIChannel>;
  operations: Record<string, AsyncAPIOperation>;
  components: {
    schemas?: Record<string, JsonSchema>;
    securitySchemes?: Record<string, AsyncAPISecurityScheme>;
  };
}

export interface AsyncAPIInfo extends Omit<OpenAPIInfo, "license"> {
  /** AsyncAPI has no `identifier`. */
  license?: Omit<OpenAPILicense, "identifier">;
  tags?: OpenAPITag[];
  externalDocs?: OpenAPIExternalDocs;
}

export interface AsyncAPIServer {
  host: string;
  protocol: string;
  pathname?: string;
  description?: string;
  variables?: Record<string, OpenAPIServerVariable>;
}

export interface AsyncAPIChannel {
  address: string;
  summary?: string;
  description?: string;
  servers?: AsyncAPIReference[];
  parameters?: Record<string, AsyncAPIParameter>;
  messages: Record<string, AsyncAPIMessage>;
  tags?: OpenAPITag[];
  bindings?: {
    ws: { method: "GET"; query?: JsonSchema; headers?: JsonSchema; bindingVersion: "0.1.0" };
  };
}

/** Its value is a string. */
export interface AsyncAPIParameter {
  description?: string;
  enum?: string[];
  default?: string;
  examples?: string[];
  /** The schema of the value, unless it is any string. */
  "x-schema"?: JsonSchema;
}

export interface AsyncAPIMessage {
  name: string;
  summary?: string;
  contentType?: string;
  headers?: JsonSchema;
  payload?: JsonSchema;
}

export interface AsyncAPIOperation {
  action: "send" | "receive";
  channel: AsyncAPIReference;
  summary?: string;
  description?: string;
  messages: AsyncAPIReference[];
  security?: (AsyncAPIReference | AsyncAPISecurityScheme)[];
  "x-security"?: Record<string, string[]>[];
  tags?: OpenAPITag[];
  /** The HTTP binding has no member for them. */
  "x-headers"?: JsonSchema;
  bindings?: { http: { method: string; query?: JsonSchema; bindingVersion: "0.3.0" } };
}

/** AsyncAPI has another type for keys, and other names for scopes. */
export type AsyncAPISecurityScheme =
  | { type: "httpApiKey"; in: "query" | "header" | "cookie"; name: string; description?: string }
  | { type: "X509"; description?: string }
  | { type: "oauth2"; flows: Record<string, AsyncAPIFlow>; scopes?: string[]; description?: string }
  | { type: "openIdConnect"; openIdConnectUrl: string; scopes?: string[]; description?: string }
  | Extract<SecurityScheme, { type: "http" }>;

export interface AsyncAPIFlow {
  authorizationUrl?: string;
  tokenUrl?: string;
  refreshUrl?: string;
  availableScopes: Record<string, string>;
}

export interface AsyncAPIReference {
  $ref: string;
}
