// How fast calls are, beside fetch by hand. The server is another process.

import { join } from "node:path";
import { client } from "../../../src/client/mod.ts";
import type { None, RouteRef } from "../../../src/types/mod.ts";
import { ownProgram } from "../own_program.ts";

/** The contestant that the ratios refer to. */
export const BASELINE = "fetch";

/** Calls that are under way at a time. */
export const PARALLEL = 16;

interface Book {
  id: number;
  title: string;
  tags: string[];
}

type GetBook = RouteRef<
  "GET",
  "/books/{id}",
  None,
  { lang: never },
  never,
  never,
  never,
  never,
  unknown,
  Book,
  never,
  never
>;
type AddBook = RouteRef<"POST", "/books", None, None, never, never, Book, never, unknown, Book, never, never>;

const BOOK: Book = { id: 1, title: "Middlemarch", tags: ["novel", "1871"] };

/** What is measured. */
export interface Workload {
  name: string;
  /** Sends one request, by the client and by hand. */
  contestants: (origin: string) => Record<string, () => Promise<unknown>>;
}

/** Requests of a page. */
export const WORKLOADS: Workload[] = [
  {
    name: "GET with a path and a query",
    contestants: (origin) => {
      const shop = client<{ getBook: GetBook }>(origin);
      const get = shop.get as (path: string, values: object) => Promise<unknown>;
      return {
        [BASELINE]: async () => {
          const query = new URLSearchParams({ lang: "en" });
          const response = await fetch(`${origin}/books/${encodeURIComponent("1")}?${query}`);
          if (!response.ok) throw new Error(`Got ${response.status}`);
          return await response.json();
        },
        webfw: () => get("/books/{id}", { id: "1", lang: "en" }),
      };
    },
  },
  {
    name: "POST of JSON",
    contestants: (origin) => {
      const shop = client<{ addBook: AddBook }>(origin);
      return {
        [BASELINE]: async () => {
          const headers = { "content-type": "application/json" };
          const response = await fetch(`${origin}/books`, { method: "POST", headers, body: JSON.stringify(BOOK) });
          if (!response.ok) throw new Error(`Got ${response.status}`);
          return await response.json();
        },
        webfw: () => shop.post("/books", { body: BOOK }),
      };
    },
  },
];

/** A server for the clients, in a process of its own. */
export class BookServer implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  /** Where it listens. */
  readonly origin: string;

  private constructor(process: Deno.ChildProcess, origin: string) {
    this.#process = process;
    this.origin = origin;
  }

  /** Starts it, and waits until it listens. */
  static async start(): Promise<BookServer> {
    const [program = "", ...args] = ownProgram(join(import.meta.dirname!, "programs", "server.ts"));
    const process = new Deno.Command(program, { args, stdin: "null", stdout: "piped" }).spawn();
    const lines = process.stdout.pipeThrough(new TextDecoderStream());
    for await (const port of lines) return new BookServer(process, `http://127.0.0.1:${port.trim()}`);
    throw new Error("Cannot measure the client: its server has not started");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill();
    await this.#process.status;
  }
}

/** Sends requests, a few at a time, and returns how many in a second. */
export async function requestsPerSecond(send: () => Promise<unknown>, requests: number): Promise<number> {
  let left = requests;
  const start = performance.now();
  await Promise.all(Array.from({ length: PARALLEL }, async () => {
    while (left-- > 0) await send();
  }));
  return requests / (performance.now() - start) * 1000;
}
