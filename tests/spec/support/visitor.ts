// A browser as far as sessions need one: it keeps cookies, and sends them back.

import type { App } from "@webfw/core";

/** Sends requests to an application with the cookies of its replies. */
export class Visitor {
  /** By name; those of the browser. */
  readonly cookies: Map<string, string> = new Map();
  readonly #app: App;
  readonly #origin: string;

  constructor(app: App, origin = "http://localhost") {
    this.#app = app;
    this.#origin = origin;
  }

  /** Sends a request, and keeps the cookies of the reply. */
  async send(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    const cookie = Array.from(this.cookies, ([name, value]) => `${name}=${value}`).join("; ");
    if (cookie !== "") headers.set("cookie", cookie);
    const response = await this.#app.fetch(new Request(this.#origin + path, { ...init, headers }));
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/Expires=Thu, 01 Jan 1970/.test(line)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return response;
  }

  /** The JSON of a reply to a GET; the status if it is an error. */
  async get(path: string): Promise<unknown> {
    return await answerOf(await this.send(path));
  }

  /** The JSON of a reply to a POST; null without a body, the status if it is an error. */
  async post(path: string): Promise<unknown> {
    return await answerOf(await this.send(path, { method: "POST" }));
  }
}

async function answerOf(response: Response): Promise<unknown> {
  const text = await response.text();
  if (response.status >= 400) return response.status;
  return text === "" ? null : JSON.parse(text);
}
