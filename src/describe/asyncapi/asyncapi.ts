/** The AsyncAPI document of an application: its WebSocket routes, event streams and topics. */
import { isDeclaredReply } from "../../http/replies/declared_reply.ts";
import type { AnyRoute } from "../../routing/registry.ts";
import { WebSocketRoute } from "../../routing/websocket_route.ts";
import type { DeclaredTopic } from "../../topics/topics.ts";
import type { OpenAPILicense } from "../openapi/document.ts";
import type { DocumentOptions } from "../openapi/document_options.ts";
import { infoOf } from "../openapi/openapi.ts";
import { SecuritySchemes } from "../openapi/security.ts";
import type {
  AsyncAPIChannel,
  AsyncAPIDocument,
  AsyncAPIInfo,
  AsyncAPIOperation,
  AsyncAPISecurityScheme,
} from "./document.ts";
import { type ChannelParts, RouteChannels } from "./route_channels.ts";
import { AsyncAPISchemas } from "./schemas.ts";
import { securityOf, toAsyncAPIScheme } from "./security.ts";
import { AsyncAPIServers, type Transport } from "./servers.ts";
import { topicChannel } from "./topic_channels.ts";

/** What the document describes. */
export interface AsyncAPIParts extends DocumentOptions {
  readonly title: string;
  readonly version: string;
  readonly description?: string | undefined;
  /** With unique names of operations. */
  readonly routes: readonly AnyRoute[];
  readonly topics: readonly DeclaredTopic[];
}

/**
 * Makes the document. The same parts give the same document, including the order of its keys.
 *
 * @throws {TypeError} If JSON Schema cannot describe a schema.
 * @throws {RouteError} With code `conflict`, if two security schemes have the same name.
 */
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

/** A channel with what reaches it. */
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

/** Writes channels and operations under unique names. */
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

/** That of the OpenAPI document, and what stands beside it there. */
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
