// The guards of webfw around the workloads on webfw.

import { importJWK } from "jose";
import * as v from "valibot";
import { bearer, jwt, memorySessions, session, type SessionOptions } from "../../../../src/auth/mod.ts";
import { requestId } from "../../../../src/middleware/mod.ts";
import { App, type Dependency, Router } from "../../../../mod.ts";
import { announce } from "../../http/servers/listen.ts";
import { routes } from "../../http/servers/routes.ts";
import { AUDIENCE, findUser, ISSUER, MAX_REQUESTS, ORIGIN, SECRET } from "../credentials.ts";
import { argument, guard } from "./arguments.ts";

const APPS: Record<string, () => Promise<App>> = {
  // Without the guard, the check that is on by default is off, too.
  none: async () => including(new App({ crossOrigin: true })),

  origins: async () => including(new App({ crossOrigin: true, origins: [ORIGIN] })),

  limit: async () => including(new App({ crossOrigin: true, rateLimit: { limit: MAX_REQUESTS, per: "1m" } })),

  id: async () => {
    const app = new App({ crossOrigin: true });
    app.middleware(requestId());
    return including(app);
  },

  bearer: async () => guarded(bearer(findUser)),

  sealed: async () => signingIn({ secret: SECRET }),

  memory: async () => signingIn({ store: memorySessions() }),

  jwt: async () => {
    const keys = await importJWK(JSON.parse(argument), "ES256");
    const claims = v.object({ sub: v.string() });
    return guarded(jwt({ keys, issuer: ISSUER, audience: AUDIENCE, claims }));
  },

  "cross-origin": async () => including(new App()),
};

function including(app: App): App {
  app.include(routes);
  return app;
}

/** The routes within a router that has the guard. */
function guarded(user: Dependency<unknown>): App {
  const members = new Router({ deps: { user } });
  members.include(routes);
  const app = new App({ crossOrigin: true });
  app.include(members);
  return app;
}

function signingIn(options: SessionOptions): App {
  const visit = session(v.object({ userId: v.number() }), options);
  const app = guarded(visit.required());
  app.post("/login", { deps: { visit }, status: 204 }, async (_request, { visit }) => {
    await visit.set({ userId: 42 });
  });
  return app;
}

const app = await APPS[guard]!();
await app.run({ port: 0, onListen: ({ port }) => announce(port) });
