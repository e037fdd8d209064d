/** The AsyncAPI document: channels of WebSocket routes, event streams and topics. */
import { isDeclaredReply } from "../../http/replies/declared_reply.ts";
import type { AnyRoute } from "../../routing/registry.ts";
import type { BaseRoute, Route } from "../../routing/route.ts";
import type { Schema } from "../../schema/schema.ts";
import { WebSocketRoute } from "../../routing/websocket_route.ts";
import type { DeclaredTopic } from "../../topics/declared_topic.ts";
import type { OpenAPILicense } from "../openapi/document.ts";
import type { OpenAPIOperation, OpenAPIServer } from "../../http/operation.ts";
import type { DocumentOptions } from "../openapi/document_options.ts";
import { documentPath, infoOf } from "../openapi/openapi.ts";
import { isDescribedElsewhere, Parameters } from "../openapi/parameters.ts";
import { EVENT_FIELDS } from "../openapi/replies.ts";
import { isCredential, SecuritySchemes } from "../openapi/security.ts";
import type { JsonSchema } from "../../schema/json_schema.ts";
import { freeName, Models, pascalCase } from "../json_schema/models.ts";
import { type Documentation, documentationOf } from "../route/docstring.ts";
import { inputsOf, type ParameterInput } from "../route/inputs.ts";
import type {
  AsyncAPIChannel,
  AsyncAPIDocument,
  AsyncAPIFlow,
  AsyncAPIInfo,
  AsyncAPIMessage,
  AsyncAPIOperation,
  AsyncAPIParameter,
  AsyncAPIReference,
  AsyncAPISecurityScheme,
  AsyncAPIServer,
} from "./document.ts";
import type { OAuth2SecurityScheme, SecurityScheme } from "../../binding/security.ts";

export interface AsyncAPIParts extends DocumentOptions {
  readonly title: string;
  readonly version: string;
  readonly description?: string | undefined;
  readonly routes: readonly AnyRoute[];
  readonly topics: readonly DeclaredTopic[];
}

/** Deterministic, including the order of keys. */
export function asyncapiDocument(parts: AsyncAPIParts): AsyncAPIDocument {
  const schemas = new AsyncAPISchemas();
  const security = new SecuritySchemes();
  const channels = channelsOf(parts, schemas, security);
  const servers = new AsyncAPIServers(parts.servers ?? [], new Set(channels.map(({ transport }) => transport)));
  const base = parts.servers?.find(({ url }) => URL.canParse(url))?.url;
  const schemes = Object.entries(security.definitions() ?? {})
    .map(([name, scheme]) => [name, toAsyncAPIScheme(scheme, base)] as const);
  const writer = new Writer(servers, new Map(schemes));
  for (const channel of channels) writer.add(channel);
  const models = schemas.definitions();
  const located = servers.definitions();
  return {
    asyncapi: "3.0.0",
    info: asyncapiInfo(parts),
    defaultContentType: "application/json",
    ...(located && { servers: located }),
    channels: writer.channels,
    operations: writer.operations,
    components: {
      ...(Object.keys(models).length > 0 && { schemas: models }),
      ...(schemes.length > 0 && { securitySchemes: Object.fromEntries(schemes) }),
    },
  };
}

interface LocatedChannel extends ChannelParts {
  readonly transport: Transport;
}

function channelsOf(
  { routes, topics }: AsyncAPIParts,
  schemas: AsyncAPISchemas,
  security: SecuritySchemes,
): readonly LocatedChannel[] {
  const made = new RouteChannels(schemas, security);
  const ofRoutes = routes.filter(({ options }) => !options.hidden).flatMap((route): LocatedChannel[] => {
    if (route instanceof WebSocketRoute) return [{ ...made.ofWebSocket(route), transport: "websocket" }];
    const { response } = route.options;
    if (!isDeclaredReply(response) || response.type !== "events") return [];
    return [{ ...made.ofEvents(route, response.item), transport: "http" }];
  });
  const ofTopics = topics.map((topic): LocatedChannel => ({ ...topicChannel(topic, schemas), transport: "topic" }));
  return [...ofRoutes, ...ofTopics];
}

class Writer {
  readonly channels: Record<string, AsyncAPIChannel> = {};
  readonly operations: Record<string, AsyncAPIOperation> = {};
  readonly #servers: AsyncAPIServers;
  readonly #schemes: ReadonlyMap<string, AsyncAPISecurityScheme>;

  constructor(servers: AsyncAPIServers, schemes: ReadonlyMap<string, AsyncAPISecurityScheme>) {
    this.#servers = servers;
    this.#schemes = schemes;
  }

  add({ id, channel, operations, security, transport }: LocatedChannel): void {
    const name = freeName(id, (name) => Object.hasOwn(this.channels, name));
    const servers = this.#servers.of(transport);
    this.channels[name] = { ...channel, ...(servers && { servers }) };
    for (const { action, message, ...details } of operations) {
      const verb = action === "send" ? "Send" : "Receive";
      const { summary, tags } = channel;
      this.operations[freeName(name + verb, (name) => Object.hasOwn(this.operations, name))] = {
        action,
        channel: { $ref: `#/channels/${name}` },
        ...(summary !== undefined && { summary }),
        messages: [{ $ref: `#/channels/${name}/messages/${message}` }],
        ...(security && securityOf(security, (scheme) => this.#schemes.get(scheme)!)),
        ...(tags && { tags }),
        ...details,
      };
    }
  }
}

function asyncapiInfo(parts: AsyncAPIParts): AsyncAPIInfo {
  // AsyncAPI has no summary.
  const { license, summary: _, ...info } = infoOf(parts);
  const { tags = [], externalDocs } = parts;
  return {
    ...info,
    ...(license && { license: licenseOf(license) }),
    ...(tags.length > 0 && { tags: [...tags] }),
    ...(externalDocs && { externalDocs }),
  };
}

function licenseOf({ identifier, ...license }: OpenAPILicense): NonNullable<AsyncAPIInfo["license"]> {
  return { ...license, ...(identifier !== undefined && { "x-identifier": identifier }) };
}

export type Transport = "websocket" | "http" | "topic";

/** The scheme must not be a variable. */
const URL_PARTS = /^(?<scheme>https?):\/\/(?<host>[^/]+)(?<pathname>\/.*)?$/;

const SOCKETS: Readonly<Record<string, string>> = { http: "ws", https: "wss" };

/** Omits servers without a host, and those whose scheme is a variable. */
export class AsyncAPIServers {
  readonly #servers = new Map<string, AsyncAPIServer>();
  readonly #byTransport: Readonly<Record<Transport, string[]>> = { websocket: [], http: [], topic: [] };

  constructor(servers: readonly OpenAPIServer[], transports: ReadonlySet<Transport>) {
    const located = servers.flatMap((server) => {
      const parts = URL_PARTS.exec(server.url)?.groups;
      return parts ? [{ server, parts }] : [];
    });
    for (const { server: { description, variables }, parts: { scheme, host, pathname } } of located) {
      const place = {
        ...(pathname !== undefined && { pathname }),
        ...(description !== undefined && { description }),
        ...(variables && { variables }),
      };
      for (const [transport, protocol] of [["websocket", SOCKETS[scheme!]!], ["http", scheme!]] as const) {
        if (transports.has(transport)) this.#add(transport, { host: host!, protocol, ...place });
      }
    }
    // In AsyncAPI, a channel without `servers` is on all of them.
    if (this.#servers.size > 0 && transports.has("topic")) {
      this.#add("topic", {
        host: "application",
        protocol: "webfw",
        description: "The topics inside of the application. Clients get their messages from other channels.",
      });
    }
  }

  of(transport: Transport): AsyncAPIReference[] | undefined {
    if (this.#servers.size === 0) return undefined;
    return this.#byTransport[transport].map((name) => ({ $ref: `#/servers/${name}` }));
  }

  definitions(): Record<string, AsyncAPIServer> | undefined {
    return this.#servers.size === 0 ? undefined : Object.fromEntries(this.#servers);
  }

  #add(transport: Transport, server: AsyncAPIServer): void {
    const name = freeName(server.protocol, (name) => this.#servers.has(name));
    this.#servers.set(name, server);
    this.#byTransport[transport].push(name);
  }
}

/** `base` is the base URL of endpoints. */
export function toAsyncAPIScheme(scheme: SecurityScheme, base: string | undefined): AsyncAPISecurityScheme {
  const described = scheme.description === undefined ? {} : { description: scheme.description };
  switch (scheme.type) {
    case "apiKey":
      return { type: "httpApiKey", in: scheme.in, name: scheme.name, ...described };
    case "mutualTLS":
      return { type: "X509", ...described };
    case "http":
      return scheme;
    case "openIdConnect": {
      const openIdConnectUrl = absolute(scheme.openIdConnectUrl, base);
      return openIdConnectUrl ? { type: "openIdConnect", openIdConnectUrl, ...described } : bearer(scheme);
    }
    case "oauth2": {
      const flows = flowsOf(scheme, base);
      return flows ? { type: "oauth2", flows, ...described } : bearer(scheme);
    }
  }
}

/**
 * AsyncAPI has only alternatives of one scheme each. Others are repeated in the form of OpenAPI.
 */
export function securityOf(
  requirements: NonNullable<OpenAPIOperation["security"]>,
  schemeOf: (name: string) => AsyncAPISecurityScheme,
): Pick<AsyncAPIOperation, "security" | "x-security"> {
  const isExact = requirements.every((requirement) => Object.keys(requirement).length === 1);
  const isOptional = requirements.some((requirement) => Object.keys(requirement).length === 0);
  const required = requirements.flatMap((requirement) => Object.entries(requirement));
  const security = required.map(([name, scopes]) => {
    const scheme = schemeOf(name);
    const takesScopes = scheme.type === "oauth2" || scheme.type === "openIdConnect";
    return takesScopes && scopes.length > 0
      ? { ...scheme, scopes }
      : { $ref: `#/components/securitySchemes/${name.replaceAll("~", "~0").replaceAll("/", "~1")}` };
  });
  return { ...(!isOptional && { security }), ...(!isExact && { "x-security": requirements }) };
}

function flowsOf({ flows }: OAuth2SecurityScheme, base: string | undefined): Record<string, AsyncAPIFlow> | undefined {
  const converted = Object.entries(flows).map(([name, flow]) => {
    const { scopes: availableScopes, ...urls } = flow as { scopes: Record<string, string> } & Record<string, string>;
    const whole = Object.entries(urls).map(([key, url]) => [key, absolute(url, base)] as const);
    const isComplete = whole.every(([, url]) => url !== undefined);
    return [name, isComplete && { ...Object.fromEntries(whole), availableScopes }] as const;
  });
  return converted.every(([, flow]) => flow)
    ? Object.fromEntries(converted) as Record<string, AsyncAPIFlow>
    : undefined;
}

/** AsyncAPI requires absolute URLs here. */
function absolute(url: string, base: string | undefined): string | undefined {
  return URL.parse(url, base)?.href;
}

function bearer({ description }: SecurityScheme): AsyncAPISecurityScheme {
  return { type: "http", scheme: "bearer", ...(description !== undefined && { description }) };
}

interface ChannelParts {
  readonly id: string;
  readonly channel: AsyncAPIChannel;
  readonly operations: readonly OperationParts[];
  /** In the form of OpenAPI. */
  readonly security?: OpenAPIOperation["security"];
}

interface OperationParts extends Pick<AsyncAPIOperation, "action" | "bindings" | "x-headers"> {
  readonly message: string;
}

interface Inputs {
  readonly query?: JsonSchema;
  readonly headers?: JsonSchema;
}

/** The keywords of a parameter that accepts any string. */
const ANY_TEXT: ReadonlySet<string> = new Set(["type", "minLength"]);

class RouteChannels {
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

  #partsOf(route: BaseRoute, documentation: Documentation): Pick<ChannelParts, "channel" | "security"> & Inputs {
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

function topicChannel({ name, options }: DeclaredTopic, schemas: AsyncAPISchemas): ChannelParts {
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

/** Collects schemas, and converts them once all models have names. */
class AsyncAPISchemas {
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
  if (ONE.has(keyword)) return typeof value === "object" ? toDraft07(value as JsonSchema) : value;
  if (LIST.has(keyword)) return (value as JsonSchema[]).map(toDraft07);
  if (keyword !== "properties") return value;
  return Object.fromEntries(Object.entries(value as object).map(([name, part]) => [name, toDraft07(part)]));
}
