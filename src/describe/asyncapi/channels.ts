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
import type { DeclaredTopic } from "../../topics/topics.ts";
import { Models } from "../json_schema/models.ts";

export interface ChannelParts {
  readonly id: string;
  readonly channel: AsyncAPIChannel;
  readonly operations: readonly OperationParts[];
  /** In the form of OpenAPI. */
  readonly security?: OpenAPIOperation["security"];
}

export interface OperationParts extends Pick<AsyncAPIOperation, "action" | "bindings" | "x-headers"> {
  readonly message: string;
}

interface Inputs {
  readonly query?: JsonSchema;
  readonly headers?: JsonSchema;
}

/** The keywords of a parameter that accepts any string. */
const ANY_TEXT: ReadonlySet<string> = new Set(["type", "minLength"]);

export class RouteChannels {
  readonly #schemas: AsyncAPISchemas;
  readonly #parameters: Parameters;
  readonly #security: SecuritySchemes;

  constructor(schemas: AsyncAPISchemas, security: SecuritySchemes) {
    this.#schemas = schemas;
    this.#parameters = new Parameters(schemas.models);
    this.#security = security;
  }

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

  ofEvents(route: Route, item: Schema | undefined): ChannelParts {
    const { operationId: id, method } = route;
    // The name in the OpenAPI document.
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

const UNITS = [[86_400_000, "days"], [3_600_000, "hours"], [60_000, "minutes"], [1_000, "seconds"]] as const;
const MIB = 2 ** 20;

export function topicChannel({ name, options }: DeclaredTopic, schemas: AsyncAPISchemas): ChannelParts {
  const { schema, isDurable, policy } = options;
  const id = `topic${pascalCase(name)}`;
  const payload = schema && schemas.of(schemas.models.jsonOutput(schema, `${pascalCase(name)}Message`));
  const place = isDurable
    ? "A durable topic: its messages are in a store, which processes can share."
    : "A topic in the memory of the process.";
  return {
    id,
    channel: {
      // AsyncAPI reads braces as parameters.
      address: name.replaceAll("{", "%7B").replaceAll("}", "%7D"),
      description: `${place} It keeps ${keptOf(policy)}.`,
      messages: {
        message: {
          name: `${id}Message`,
          contentType: "application/json",
          headers: {
            type: "object",
            properties: {
              id: { type: "string", description: "The id of the message, by which readers resume." },
              type: { type: "string", description: "The kind of the message." },
            },
            required: ["id"],
          },
          ...(payload && { payload }),
        },
      },
    },
    operations: [{ action: "send", message: "message" }],
  };
}

function keptOf({ age, count, bytes }: DeclaredTopic["options"]["policy"]): string {
  const bounds = [
    ...(count === Infinity ? [] : [`the last ${count} messages`]),
    ...(age === Infinity ? [] : [`messages of the last ${duration(age)}`]),
    ...(bytes === Infinity ? [] : [`at most ${Math.round(bytes / MIB * 10) / 10} MiB`]),
  ];
  return bounds.length === 0 ? "all messages" : bounds.join(", ");
}

function duration(ms: number): string {
  const [size, unit] = UNITS.find(([size]) => ms % size === 0) ?? [1, "milliseconds"];
  return `${ms / size} ${unit}`;
}

/** Keywords whose value is a schema, an array of schemas, or schemas by name. */
const ONE: ReadonlySet<string> = new Set(["not", "items", "contains", "additionalProperties", "propertyNames"]);
const LIST: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const NAMED: ReadonlySet<string> = new Set(["properties"]);

/** Collects schemas, and converts them once all models have names. */
export class AsyncAPISchemas {
  /** The models of the application, named as in the OpenAPI document. */
  readonly models: Models = new Models("#/components/schemas/");
  readonly #pending: { readonly from: JsonSchema; readonly to: JsonSchema }[] = [];

  /** Converts a schema of {@linkcode models}. The result is complete after `definitions()`. */
  of(from: JsonSchema): JsonSchema {
    const to: JsonSchema = {};
    this.#pending.push({ from, to });
    return to;
  }

  /** Call it once, at the end. */
  definitions(): Record<string, JsonSchema> {
    const definitions = this.models.definitions();
    for (const { from, to } of this.#pending) Object.assign(to, toDraft07(from));
    return Object.fromEntries(Object.entries(definitions).map(([name, schema]) => [name, toDraft07(schema)]));
  }
}

/** A copy without newer keywords than draft 07, and without OpenAPI's discriminator. */
function toDraft07(schema: JsonSchema): JsonSchema {
  const { discriminator: _, contentSchema: __, ...known } = schema;
  const converted = Object.fromEntries(Object.entries(known).map(([key, value]) => [key, convert(key, value)]));
  if (!("prefixItems" in converted)) return converted;
  const { prefixItems, items, ...others } = converted;
  return { ...others, items: prefixItems, ...(items !== undefined && { additionalItems: items }) } as JsonSchema;
}

function convert(keyword: string, value: unknown): unknown {
  if (ONE.has(keyword)) return isSchema(value) ? toDraft07(value) : value;
  if (LIST.has(keyword)) return (value as JsonSchema[]).map(toDraft07);
  if (!NAMED.has(keyword)) return value;
  return Object.fromEntries(Object.entries(value as object).map(([name, part]) => [name, toDraft07(part)]));
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object";
}
