// The client of the board's endpoints, and whether they answer.

import { client, ProblemError } from "../../src/client/mod.ts";
import type * as routes from "../../src/board/routes.ts";
import { Store } from "./store.ts";

/** Whether the last request was answered. */
export const isOnline = new Store(true);

/** The folder of the page, without its last slash. */
const base = location.pathname.replace(/\/$/, "");

export const api = client<typeof routes>(base, {
  fetch: async (request) => {
    try {
      const response = await fetch(request);
      isOnline.set(response.status < 502);
      return response;
    } catch (error) {
      if (!request.signal.aborted) isOnline.set(false);
      throw error;
    }
  },
});

/** What the page shows of a failed action. */
export function reasonOf(error: unknown): string {
  if (error instanceof ProblemError) return error.problem.detail || error.problem.title;
  return error instanceof Error ? error.message : String(error);
}
