/** The AsyncAPI document of an application: its WebSocket routes, event streams and topics. */
import { isDeclaredReply } from "../../http/replies/declared_reply.ts";
import type { AnyRoute } from "../../routing/registry.ts";
import { WebSocketRoute } from "../../routing/websocket_route.ts";
import type { DeclaredTopic } from "../../topics/topics.ts";
import type { OpenAPILicense, OpenAPIOperation, OpenAPIServer } from "../openapi/document.ts";
import type { DocumentOptions } from "../openapi/document_options.ts";
import { infoOf } from "../openapi/openapi.ts";
import { SecuritySchemes } from "../openapi/security.ts";
import type {
  AsyncAPIChannel,
  AsyncAPIDocument,
  AsyncAPIFlow,
  AsyncAPIInfo,
  AsyncAPIOperation,
  AsyncAPIReference,
  AsyncAPISecurityScheme,
  AsyncAPIServer,
} from "./document.ts";
import { AsyncAPISchemas, type ChannelParts, RouteChannels, topicChannel } from "./channels.ts";
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
    const name = freeName(id, this.channels);
    const servers = this.#servers.of(transport);
    this.channels[name] = { ...channel, ...(servers && { servers }) };
    for (const { action, message, ...details } of operations) {
      const verb = action === "send" ? "Send" : "Receive";
      const { summary, tags } = channel;
      this.operations[freeName(name + verb, this.operations)] = {
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

function freeName(wanted: string, taken: Readonly<Record<string, unknown>>): string {
  let name = wanted;
  for (let number = 2; Object.hasOwn(taken, name); number++) name = `${wanted}${number}`;
  return name;
}

function asyncapiInfo(parts: AsyncAPIParts): AsyncAPIInfo {
  const { license, ...info } = infoOf(parts);
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
    let name = server.protocol;
    for (let number = 2; this.#servers.has(name); number++) name = `${server.protocol}${number}`;
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
