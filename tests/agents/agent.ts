// A minimal agent: it sends the messages of a test as they are, even if they are wrong.

import { assert, assertEquals } from "@std/assert";

/** The handler of its requests. */
export type Fetch = (request: Request) => Promise<Response>;

/** A message, valid or not. */
export type Message = Readonly<Record<string, unknown>> | readonly unknown[];

/** The JSON of a reply: an answer of the protocol, or a problem. */
export interface Answer {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
  readonly detail?: string;
}

/** A reply to a message. */
export interface AgentReply {
  readonly status: number;
  readonly headers: Headers;
  /** Its JSON; undefined without a body. */
  readonly body: Answer | undefined;
}

/** A tool as an agent sees it. */
export interface ListedTool {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  readonly annotations: Readonly<Record<string, unknown>>;
}

/** The result of a call. */
export interface CallResult {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}

/** The newest revision, whose requests carry it themselves. */
const MODERN = "2026-07-28";

/** An agent that asks an endpoint. */
export class Agent {
  readonly #fetch: Fetch;
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;

  /** Makes an agent whose requests have these headers. */
  constructor(answers: Fetch | { readonly fetch: Fetch }, url = "http://localhost/mcp", headers = {}) {
    this.#fetch = typeof answers === "function" ? answers : answers.fetch;
    this.#url = url;
    this.#headers = headers;
  }

  /** Sends a body unchanged. */
  async send(body: string, headers: HeadersInit = {}): Promise<AgentReply> {
    const sent = new Headers({ "content-type": "application/json", ...this.#headers });
    for (const [name, value] of new Headers(headers)) sent.set(name, value);
    const response = await this.#fetch(new Request(this.#url, { method: "POST", headers: sent, body }));
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
  }

  /** Sends a message. */
  post(message: Message, headers?: HeadersInit): Promise<AgentReply> {
    return this.send(JSON.stringify(message), headers);
  }

  /** Sends a request, and returns its result, which must exist. */
  async ask(
    method: string,
    params: Readonly<Record<string, unknown>> = {},
  ): Promise<Readonly<Record<string, unknown>>> {
    const { body } = await this.post({ jsonrpc: "2.0", id: 1, method, params });
    assert(body?.result !== undefined, JSON.stringify(body));
    return body.result;
  }

  /** The same of the newest revision. */
  askModern(method: string, params: Readonly<Record<string, unknown>> = {}, headers = {}): Promise<AgentReply> {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": MODERN,
      "io.modelcontextprotocol/clientInfo": { name: "agent", version: "1.0.0" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const named = typeof params.name === "string" ? { "mcp-name": params.name } : {};
    return this.post(
      { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } },
      { "mcp-protocol-version": MODERN, "mcp-method": method, ...named, ...headers },
    );
  }

  /** The tools. */
  async list(): Promise<ListedTool[]> {
    return (await this.ask("tools/list")).tools as ListedTool[];
  }

  /** The only tool. */
  async tool(): Promise<ListedTool> {
    const [tool, ...others] = await this.list();
    assert(tool !== undefined && others.length === 0);
    return tool;
  }

  /** Calls a tool. */
  async call(name: string, given: Readonly<Record<string, unknown>> = {}): Promise<CallResult> {
    return await this.ask("tools/call", { name, arguments: given }) as unknown as CallResult;
  }

  /** Calls a tool that has to succeed with a structured result. */
  async result(name: string, given: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
    const { content, structuredContent, isError } = await this.call(name, given);
    assertEquals(isError, undefined, content[0]?.text);
    assertEquals(JSON.parse(content[0]?.text ?? ""), structuredContent);
    return structuredContent;
  }

  /** Calls a tool that has to fail, and returns the reason. */
  async failure(name: string, given: Readonly<Record<string, unknown>> = {}): Promise<string | undefined> {
    const { content, structuredContent, isError } = await this.call(name, given);
    assertEquals([isError, structuredContent, content.length], [true, undefined, 1]);
    return content[0]?.text;
  }
}
