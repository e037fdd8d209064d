// Keeps a socket open, on any platform. It is bundled for it.

import { client } from "../../../src/client/mod.ts";
import type { Api } from "./reconnect_api.ts";

/** @param addresses Of the way to the server, and of what makes that whole again, with a space between them. */
export async function run(addresses: string): Promise<Record<string, unknown>> {
  const [base = "", whole = ""] = addresses.split(" ");
  const heard: number[] = [];
  const given: string[] = [];
  const failed: string[] = [];
  const socket = await client<Api>(base).websocket("/room", {}, {
    idleTimeout: 2_000,
    protocols: ["v2", "v1"],
    reconnect: async (sent) => {
      given.push(sent.map(({ text }) => text).join());
      // It can send here.
      if (heard.length === 4) await socket.send({ text: "again" });
    },
  });
  const asks = ["restart", "close 1012", "darken", "cut", "close 4001"];
  const found: Record<string, unknown> = { heard, given, failed, protocol: socket.protocol };
  try {
    for await (const { n } of socket) {
      heard.push(n);
      await socket.send({ text: asks[Math.min(n, asks.length) - 1]! });
      if (n === 3) {
        await socket.send({ text: "in the dark" });
        void lighten();
      }
    }
  } catch (error) {
    const { name, code } = error as { readonly name: string; readonly code?: number };
    found.ended = [name, code];
  }
  return found;

  /** The connection is silent, which is noticed. Until it is back, nothing can be sent. */
  async function lighten(): Promise<void> {
    while (!socket.closed) await new Promise((resolve) => setTimeout(resolve, 10));
    await socket.send({ text: "nobody" }).catch(({ name }: Error) => failed.push(name));
    await fetch(whole, { mode: "no-cors" });
  }
}
