// Requests from any address, without a socket, for tests.

import type { App } from "@webfw/core";
import { releaseIdleTimer } from "../../../src/http/deadline.ts";

/** Sends a request as if it came from an address, and reads the reply. */
export async function askFrom<State>(
  app: App<State>,
  hostname: string,
  path: string = "/",
  init: RequestInit = {},
): Promise<{ readonly status: number; readonly headers: Headers; readonly body: string }> {
  const remoteAddr = { transport: "tcp", hostname, port: 50_000 } as const;
  const response = await app.fetch(new Request(`http://localhost${path}`, init), { remoteAddr });
  const body = await response.text();
  // A server does this when it stops.
  releaseIdleTimer();
  return { status: response.status, headers: response.headers, body };
}

/** The statuses of requests that are sent one after another. */
export async function statusesFrom<State>(
  app: App<State>,
  hostname: string,
  paths: readonly string[],
  init?: RequestInit,
): Promise<number[]> {
  const statuses: number[] = [];
  for (const path of paths) statuses.push((await askFrom(app, hostname, path, init)).status);
  return statuses;
}
