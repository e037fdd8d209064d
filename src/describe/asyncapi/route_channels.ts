/** WebSocket routes and event streams as channels. */
import { pascalCase } from "../json_schema/model_names.ts";
import type { JsonSchema } from "../json_schema/json_schema.ts";
import type { Route, RouteRecord } from "../../routing/route.ts";
import type { WebSocketRoute } from "../../routing/websocket_route.ts";
import type { Schema } from "../../schema/schema.ts";
import { type Documentation, documentationOf } from "../route/docstring.ts";
import { inputsOf, type ParameterInput } from "../route/inputs.ts";
import type { OpenAPIOperation } from "../openapi/document.ts";
import { EVENT_FIELDS } from "../openapi/content.ts";
import { documentPath } from "../openapi/openapi.ts";
import { isDescribedElsewhere, Parameters } from "../openapi/parameters.ts";
import { isCredential, type SecuritySchemes } from "../openapi/security.ts";
import type { AsyncAPIChannel, AsyncAPIMessage, AsyncAPIOperation, AsyncAPIParameter } from "./document.ts";
import type { AsyncAPISchemas } from "./schemas.ts";

/** A channel, and what the application does there. */
export interface ChannelParts {
  readonly id: string;
  readonly channel: AsyncAPIChannel;
  readonly operations: readonly OperationParts[];
  /** The requirements of all operations, as OpenAPI has them. */
  readonly security?: OpenAPIOperation["security"];
}

/** What the application does with one of the messages of a channel. */
export interface OperationParts extends Pick<AsyncAPIOperation, "action" | "bindings" | "x-headers"> {
  /** The key of the message. */
  readonly message: string;
}

/** The inputs of a route besides its path, as schemas of objects. */
interface Inputs {
  readonly query?: JsonSchema;
  readonly headers?: JsonSchema;
}

/** A parameter that takes any text has this schema, perhaps with a description. */
const ANY_TEXT: ReadonlySet<string> = new Set(["type", "minLength"]);

/** What all channels of routes are made with. */
export class RouteChannels {
  readonly #schemas: AsyncAPISchemas;
  readonly #parameters: Parameters;
  readonly #security: SecuritySchemes;

  constructor(schemas: AsyncAPISchemas, security: SecuritySchemes) {
    this.#schemas = schemas;
    this.#parameters = new Parameters(schemas.models);
    this.#security = security;
  }

  /**
   * The channel of a WebSocket route.
   *
   * @throws {TypeError} If JSON Schema cannot describe a schema.
   */
  ofWebSocket(route: WebSocketRoute): ChannelParts {
    const { operationId: id, options: { receive, send }, plan: { handler } } = route;
    const { models } = this.#schemas;
    const { query, headers, ...parts } = this.#partsOf(route, documentationOf({ options: route.options, handler }));
    const messages = {
      received: this.#message(`${id}Received`, receive && models.jsonInput(receive, `${pascalCase(id)}Received`)),
      sent: this.#message(`${id}Sent`, send && models.jsonOutput(send, `${pascalCase(id)}Sent`)),
    };
    const ws = {
      method: "GET",
      ...(query && { query }),
      ...(headers && { headers }),
      bindingVersion: "0.1.0",
    } as const;
    const operations = [{ action: "receive", message: "received" }, { action: "send", message: "sent" }] as const;
    return { ...parts, id, channel: { ...parts.channel, messages, bindings: { ws } }, operations };
  }

  /**
   * The channel of a route that answers with server-sent events.
   *
   * @param item The schema of the data; undefined if there is none.
   * @throws {TypeError} If JSON Schema cannot describe the schema.
   */
  ofEvents(route: Route, item: Schema | undefined): ChannelParts {
    const { operationId: id, method } = route;
    // The OpenAPI document names it so.
    const payload = item && this.#schemas.models.jsonOutput(item, `${pascalCase(id)}Item`);
    const { query, headers, ...parts } = this.#partsOf(route, documentationOf(route));
    const event: AsyncAPIMessage = {
      name: `${id}Event`,
      contentType: "application/json",
      headers: { type: "object", properties: EVENT_FIELDS },
      ...(payload && { payload: this.#schemas.of(payload) }),
    };
    const http = { method, ...(query && { query }), bindingVersion: "0.3.0" } as const;
    const send = {
      action: "send",
      message: "event",
      bindings: { http },
      ...(headers && { "x-headers": headers }),
    } as const;
    return { ...parts, id, channel: { ...parts.channel, messages: { event } }, operations: [send] };
  }

  /** What channels of routes have in common, and the inputs that are no part of the path. */
  #partsOf(route: RouteRecord, documentation: Documentation): Pick<ChannelParts, "channel" | "security"> & Inputs {
    const { options: { tags = [] }, template } = route;
    const inputs = inputsOf(route.options, template.names, route.levels);
    const shown = inputs.parameters
      .filter((input) => !isDescribedElsewhere(input) && !isCredential(input, inputs.dependencies));
    const from = (source: ParameterInput["in"]) => shown.filter((input) => input.in === source);
    const parameters = from("path").map((input) => [input.name, this.#pathParameter(input)]);
    const cookies = from("cookie").map(({ name }) => name);
    const security = this.#security.of(route.name, inputs);
    const query = this.#objectOf(from("query"));
    const head = this.#objectOf(
      from("header"),
      cookies.length === 0 ? {} : {
        cookie: { type: "string", description: `The cookies, of which these are read: ${cookies.join(", ")}` },
      },
    );
    return {
      channel: {
        address: documentPath(template),
        ...documentation,
        ...(parameters.length > 0 && { parameters: Object.fromEntries(parameters) }),
        messages: {},
        ...(tags.length > 0 && { tags: tags.map((name) => ({ name })) }),
      },
      ...(security && { security }),
      ...(query && { query }),
      ...(head && { headers: head }),
    };
  }

  #message(name: string, payload: JsonSchema | undefined): AsyncAPIMessage {
    if (!payload) return { name, summary: "Text, or bytes." };
    return { name, contentType: "application/json", payload: this.#schemas.of(payload) };
  }

  #pathParameter(input: ParameterInput): AsyncAPIParameter {
    const { description, schema } = this.#parameters.of(input, input.name);
    const isAnyText = schema.type === "string" && Object.keys(schema).every((key) => ANY_TEXT.has(key));
    const values = schema.type === "string" ? schema.enum : undefined;
    return {
      ...(description !== undefined && { description }),
      ...(values && { enum: values.map(String) }),
      ...(!isAnyText && { "x-schema": this.#schemas.of(schema) }),
    };
  }

  /** The schema of an object that has these inputs and others; undefined if there are none. */
  #objectOf(inputs: readonly ParameterInput[], others: Record<string, JsonSchema> = {}): JsonSchema | undefined {
    if (inputs.length === 0 && Object.keys(others).length === 0) return undefined;
    const parameters = inputs.map((input) => this.#parameters.of(input, input.name));
    const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name);
    const properties = parameters.map(({ name, description, schema }) => {
      const described = description === undefined ? schema : { description, ...schema };
      return [name, this.#schemas.of(described)];
    });
    return {
      type: "object",
      properties: { ...Object.fromEntries(properties), ...others },
      ...(required.length > 0 && { required }),
    };
  }
}
