// Deno's language server, asked as an editor asks it.

import { fileURLToPath, pathToFileURL } from "node:url";
import { join } from "node:path";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** The fields of a message that are read: the answer to a request, or a request of the server. */
interface Message {
  id?: number;
  method?: string;
  result?: unknown;
}

/** What an editor sends of a place in a module. */
interface Place {
  textDocument: { uri: string };
  position: { line: number; character: number };
}

/** A running language server. Disposing of it ends it. */
export class LanguageServer implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #messages: AsyncGenerator<Message, void, void>;
  readonly #versions = new Map<string, number>();
  #lastId = 0;

  private constructor() {
    const args = ["lsp", "--quiet"];
    this.#process = new Deno.Command(Deno.execPath(), { args, cwd: ROOT, stdin: "piped", stdout: "piped" }).spawn();
    this.#input = this.#process.stdin.getWriter();
    this.#messages = readMessages(this.#process.stdout);
  }

  /** Starts a server on the repository, with the resolution that fits this machine. */
  static async start(): Promise<LanguageServer> {
    const server = new LanguageServer();
    const config = Deno.env.get("WEBFW_CONFIG") || join(ROOT, "deno.json");
    await server.#request("initialize", {
      processId: null,
      rootUri: pathToFileURL(ROOT).href,
      capabilities: { textDocument: { hover: { contentFormat: ["markdown"] }, completion: {} } },
      initializationOptions: { enable: true, config, lint: false },
    });
    await server.#send({ method: "initialized", params: {} });
    return server;
  }

  /**
   * The text that an editor shows for the words after each mark in a module, without documentation.
   */
  async hover(module: string, mark: string): Promise<string[]> {
    const shown: string[] = [];
    for (const place of await this.#placesIn("hovered.ts", module, mark)) {
      const { result } = await this.#request("textDocument/hover", place);
      const text = (result as { contents: { value: string } } | null)?.contents.value ?? "";
      shown.push(/^```\w*\n([^]*?)\n```/.exec(text)?.[1] ?? "");
    }
    return shown;
  }

  /** What an editor offers after each mark in a module. */
  async complete(module: string, mark: string): Promise<string[][]> {
    const offered: string[][] = [];
    for (const place of await this.#placesIn("completed.ts", module, mark)) {
      const { result } = await this.#request("textDocument/completion", place);
      const { items = [] } = (result ?? {}) as { items?: readonly { label: string }[] };
      offered.push(items.map(({ label }) => label));
    }
    return offered;
  }

  /**
   * Shows a module to the server, as if it were in the folder of this file. If the server knows it
   * already, it is a new version.
   */
  async open(name: string, text: string): Promise<void> {
    const uri = uriOf(name);
    const version = (this.#versions.get(uri) ?? 0) + 1;
    this.#versions.set(uri, version);
    const method = version === 1 ? "textDocument/didOpen" : "textDocument/didChange";
    const params = version === 1
      ? { textDocument: { uri, languageId: "typescript", version, text } }
      : { textDocument: { uri, version }, contentChanges: [{ text }] };
    await this.#send({ method, params });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#request("shutdown", undefined);
    await this.#send({ method: "exit" });
    await this.#input.close();
    await this.#messages.return();
    await this.#process.status;
  }

  /** Opens a module, and gives the place after each mark in it. */
  async #placesIn(name: string, module: string, mark: string): Promise<Place[]> {
    await this.open(name, module);
    const parts = module.split(mark);
    return parts.slice(1).map((_, index) => {
      const before = parts.slice(0, index + 1).map((part) => part + mark).join("").split("\n");
      const position = { line: before.length - 1, character: before.at(-1)!.length };
      return { textDocument: { uri: uriOf(name) }, position };
    });
  }

  /** Sends a request and waits for its answer. Requests of the server in between are granted. */
  async #request(method: string, params: unknown): Promise<Message> {
    const id = ++this.#lastId;
    await this.#send({ id, method, params });
    for (;;) {
      const { value: message, done } = await this.#messages.next();
      if (done) throw new Error(`The language server ended before it answered ${method}`);
      if (message.method === undefined && message.id === id) return message;
      if (message.method !== undefined && message.id !== undefined) await this.#send({ id: message.id, result: null });
    }
  }

  async #send(message: object): Promise<void> {
    const body = new TextEncoder().encode(JSON.stringify({ jsonrpc: "2.0", ...message }));
    await this.#input.write(new TextEncoder().encode(`Content-Length: ${body.length}\r\n\r\n`));
    await this.#input.write(body);
  }
}

function uriOf(name: string): string {
  return pathToFileURL(join(ROOT, "tests", "types", name)).href;
}

/** The messages of a stream, each with its length before it. */
async function* readMessages(stream: ReadableStream<Uint8Array>): AsyncGenerator<Message, void, void> {
  let rest = new Uint8Array();
  for await (const chunk of stream) {
    const bytes = new Uint8Array(rest.length + chunk.length);
    bytes.set(rest);
    bytes.set(chunk, rest.length);
    rest = bytes;
    for (;;) {
      // One byte is one character here, so that lengths are those of the bytes.
      const head = /^Content-Length: (\d+)\r\n(?:.+\r\n)*\r\n/.exec(new TextDecoder("latin1").decode(rest));
      const end = head ? head[0].length + Number(head[1]) : Infinity;
      if (rest.length < end) break;
      yield JSON.parse(new TextDecoder().decode(rest.subarray(head![0].length, end)));
      rest = rest.slice(end);
    }
  }
}
