// Applications of the same routes that shape their error replies, and say how, or do not.

import { App, dependency, HTTPError, ValidationError } from "@webfw/core";
import * as v from "valibot";

const Failure = v.strictObject({
  code: v.picklist(["invalid", "refused", "failed"]),
  why: v.pipe(v.string(), v.nonEmpty()),
  errors: v.optional(v.array(v.looseObject({ in: v.string(), path: v.array(v.union([v.string(), v.number()])) }))),
});

const member = dependency({ headers: { "x-member": v.optional(v.string()) } }, async (_request, { headers }) => {
  if (headers["x-member"] === "x-1") throw new HTTPError(402, "Pay first");
  return headers["x-member"];
});

/** Makes an application that leaves its error replies as they are. */
export function plainApp(): App {
  const app = new App({ title: "Plain" });
  addRoutes(app);
  return app;
}

/** Makes an application that says how its error replies are shaped. */
export function shapedApp(): App {
  const app = new App({ title: "Shaped" });
  app.onError((error) => {
    const code = error.status >= 500 ? "failed" : error instanceof ValidationError ? "invalid" : "refused";
    const errors = error instanceof ValidationError ? { errors: error.issues } : {};
    const headers = new Headers(error.headers);
    headers.set("content-type", "application/vnd.failure+json");
    return new Response(JSON.stringify({ code, why: error.detail, ...errors }), { status: error.status, headers });
  }, { schema: Failure, contentType: "application/vnd.failure+json" });
  addRoutes(app);
  return app;
}

/**
 * Makes an application that says nothing of it, and leaves some as they are. Those that its routes
 * declare are as declared.
 */
export function undocumentedApp(): App {
  const app = new App({ title: "Untold" });
  app.onError((error) => {
    if (error.status === 422 || error.status === 405) return;
    if (error.status === 402 || error.status === 404) {
      return Response.json({ code: "refused", why: error.detail }, { status: error.status });
    }
    return new Response(`<p>${error.status}</p>`, { status: error.status, headers: { "content-type": "text/html" } });
  });
  addRoutes(app);
  return app;
}

function addRoutes(app: App): void {
  app.post("/members/{id}", {
    params: { id: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(9)) },
    query: { level: v.optional(v.picklist(["a", "b"]), "a") },
    body: v.object({ name: v.pipe(v.string(), v.maxLength(5)), old: v.optional(v.boolean(), false) }),
    response: v.object({ id: v.number(), level: v.string(), name: v.string(), old: v.boolean() }),
    responses: { 402: Failure, 404: Failure },
    deps: { member },
    tool: true,
  }, async function addMember(_request, { id, level, body }) {
    if (id === 4) throw new HTTPError(404, "No such member");
    return { id, level, ...body };
  });
  app.get("/failure", { response: v.string() }, async () => {
    throw new Error("Broken");
  });
}
