// How the started program serves an application that is not webfw's. Sent as text: see ../boot.ts.

import type { Address, FetchApp } from "./app.ts";

/** Where to serve. */
export interface FetchOptions {
  readonly hostname: string;
  readonly port: number;
  readonly reusePort?: boolean;
  readonly onListen: (address: Address) => void;
}

/** Serves with a line for each request, until SIGINT or SIGTERM and the requests in flight are done. */
export async function serveFetch(app: FetchApp, options: FetchOptions): Promise<void> {
  const gracePeriodMs = 10_000;
  const server = Deno.serve({ ...options }, async (request, info) => {
    const start = performance.now();
    let status = 500;
    try {
      const response = await app.fetch(request, info);
      status = response.status;
      return response;
    } finally {
      logAccess(request, status, performance.now() - start);
    }
  });
  let deadline: ReturnType<typeof setTimeout> | undefined;
  const cutOff = () => {
    console.error("error: Requests were cut off, since they did not end in time");
    Deno.exit(1);
  };
  const stop = () => {
    deadline ??= setTimeout(cutOff, gracePeriodMs);
    server.shutdown();
  };
  const signals: Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM"];
  for (const signal of signals) Deno.addSignalListener(signal, stop);
  await server.finished;
  for (const signal of signals) Deno.removeSignalListener(signal, stop);
  clearTimeout(deadline);
}

/** Writes the line of a request, as webfw's own applications do. */
export function logAccess(request: Request, status: number, milliseconds: number): void {
  const { pathname, search } = new URL(request.url);
  const time = new Date().toISOString();
  console.error(`${time} INFO ${request.method} ${pathname}${search} ${status} ms=${milliseconds.toFixed(1)}`);
}
