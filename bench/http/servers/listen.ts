// How a measured server is started: the number of filler routes and the headers to send come as arguments, the port
// goes out on stdout.

import process from "node:process";

/** The number of routes to register beside the measured ones. */
export const fillerRoutes: number = Number(process.argv[2] ?? 0);

/** A header that every reply has to carry, as webfw's do; none if the server was started with `bare`. */
export const replyHeaders: { "x-content-type-options": string } | undefined = process.argv[3] === "bare"
  ? undefined
  : { "x-content-type-options": "nosniff" };

/** Whether handlers that wait for nothing are sync functions, which those of webfw cannot be. */
export const isSync: boolean = process.argv[3] === "sync";

/** Whether bodies are bounded in size and time, as webfw bounds them all. */
export const isBounded: boolean = process.argv[3] === "bounded";

/** Adds those headers to a reply in the cheapest way: after its construction. */
export function finish<Reply extends Response>(reply: Reply): Reply {
  if (replyHeaders) reply.headers.set("x-content-type-options", "nosniff");
  return reply;
}

/** Tells the process that started this one where it listens. */
export function announce(port: number): void {
  console.log(`port ${port}`);
}

/** Serves a fetch handler on a free loopback port. */
export function listen(
  handler: (request: Request) => Response | Promise<Response>,
): void {
  Deno.serve(
    {
      hostname: "127.0.0.1",
      port: 0,
      onListen: ({ port }) => announce(port),
    },
    handler,
  );
}
