// Deno's language server, asked as an editor asks it.

import { fileURLToPath, pathToFileURL } from "node:url";
import { join } from "node:path";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** The fields of a message that are read: the answer to a request, or a request of the server. */
interface Message {
  id?: number;
  method?: string;
  result?: { contents: { value: string } } | null;
}

/** A running language server. Disposing of it ends it. */
export class LanguageServer implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #messages: AsyncGenerator<Message, void, void>;
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
      capabilities: { textDocument: { hover: { contentFormat: ["markdown"] } } },
      initializationOptions: { enable: true, config, lint: false },
    });
    await server.#send({ method: "initialized", params: {} });
    return server;
  }

  /**
   * The text that an editor shows for the words after each mark in a module, without documentation.
   */
  async hover(module: string, mark: string): Promise<string[]> {
    const uri = pathToFileURL(join(ROOT, "tests", "types", "hovered.ts")).href;
    await this.#send({
      method: "textDocument/didOpen",
      params: { textDocument: { uri, languageId: "typescript", version: 1, text: module } },
    });
    const shown: string[] = [];
    const parts = module.split(mark);
    for (let index = 1; index < parts.length; index++) {
      const before = parts.slice(0, index).map((part) => part + mark).join("").split("\n");
      const position = { line: before.length - 1, character: before.at(-1)!.length };
      const { result } = await this.#request("textDocument/hover", { textDocument: { uri }, position });
      shown.push(/^```\w*\n([^]*?)\n```/.exec(result?.contents.value ?? "")?.[1] ?? "");
    }
    return shown;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#request("shutdown", undefined);
    await this.#send({ method: "exit" });
    await this.#input.close();
    await this.#messages.return();
    await this.#process.status;
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
