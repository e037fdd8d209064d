// The start of a measured server: its arguments are the number of filler routes and the kind of
// handlers. It prints its port.

import process from "node:process";

/** The number of routes to register besides the measured ones. */
export const fillerRoutes: number = Number(process.argv[2] ?? 0);

/** Whether handlers that need not wait are sync functions. Handlers of webfw cannot be. */
export const isSync: boolean = process.argv[3] === "sync";

/** Whether bodies are bounded in size and time, as webfw bounds them all. */
export const isBounded: boolean = process.argv[3] === "bounded";

/** Prints the port for the parent process. */
export function announce(port: number): void {
  console.log(`port ${port}`);
}

/** Serves a fetch handler on a free loopback port. */
export function listen(
  handler: (request: Request, info: Deno.ServeHandlerInfo) => Response | Promise<Response>,
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
