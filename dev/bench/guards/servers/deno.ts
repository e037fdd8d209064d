// The guards by hand around the workloads by hand.

import { defaults, seal, unseal } from "iron-webcrypto";
import { importJWK, jwtVerify } from "jose";
import { answer, refuse } from "../../http/servers/by_hand.ts";
import { listen } from "../../http/servers/listen.ts";
import { AUDIENCE, COOKIE, findUser, ISSUER, MAX_REQUESTS, ORIGIN, SECRET } from "../credentials.ts";
import { argument, guard } from "./arguments.ts";

type Handler = (request: Request, info: Deno.ServeHandlerInfo<Deno.NetAddr>) => Response | Promise<Response>;

interface Session {
  userId: number;
}

const MINUTE = 60_000;
const MAX_AGE = 14 * 24 * 60 * MINUTE;
const BEARER = /^Bearer ([\w.~+/-]+=*)$/i;
const SESSION = new RegExp(`(?:^|; )${COOKIE}=([^;]*)`);

/** Refuses requests that `admits` does not accept. */
const guarded = (admits: (request: Request) => Promise<unknown>): Handler => async (request) =>
  await admits(request) ? answer(request) : refuse(401);

const HANDLERS: Record<string, () => Handler | Promise<Handler>> = {
  none: () => answer,

  origins: () => {
    const origins = new Set([ORIGIN]);
    return async (request) => {
      const response = await answer(request);
      const origin = request.headers.get("origin");
      response.headers.set("vary", "Origin");
      if (origin !== null && origins.has(origin)) response.headers.set("access-control-allow-origin", origin);
      return response;
    };
  },

  limit: () => {
    const windows = new Map<string, { ends: number; count: number }>();
    return async (request, { remoteAddr: { hostname } }) => {
      const now = performance.now();
      let window = windows.get(hostname);
      if (!window || window.ends <= now) windows.set(hostname, window = { ends: now + MINUTE, count: 0 });
      if (window.count >= MAX_REQUESTS) return refuse(429);
      window.count++;
      const response = await answer(request);
      const seconds = Math.ceil((window.ends - now) / 1000);
      response.headers.set("ratelimit-policy", `"1";q=${MAX_REQUESTS};w=60`);
      response.headers.set("ratelimit", `"1";r=${MAX_REQUESTS - window.count};t=${seconds}`);
      return response;
    };
  },

  id: () => async (request) => {
    const response = await answer(request);
    response.headers.set("x-request-id", crypto.randomUUID());
    return response;
  },

  bearer: () =>
    guarded(async ({ headers }) => {
      const token = BEARER.exec(headers.get("authorization") ?? "")?.[1];
      return token !== undefined && await findUser(token);
    }),

  sealed: () => {
    const options = { ...defaults, ttl: MAX_AGE };
    return signingIn(
      (session) => seal(session, SECRET, options),
      async (value) => {
        try {
          return await unseal(value, SECRET, options);
        } catch {
          return undefined;
        }
      },
    );
  },

  memory: () => {
    const sessions = new Map<string, { ends: number; session: Session }>();
    return signingIn(
      async (session) => {
        const id = crypto.getRandomValues(new Uint8Array(32)).toHex();
        sessions.set(id, { ends: Date.now() + MAX_AGE, session });
        return id;
      },
      async (id) => {
        const kept = sessions.get(id);
        return kept && kept.ends > Date.now() ? kept.session : undefined;
      },
    );
  },

  jwt: async () => {
    const key = await importJWK(JSON.parse(argument), "ES256");
    const rules = { algorithms: ["ES256"], issuer: ISSUER, audience: AUDIENCE, requiredClaims: ["exp"] };
    return guarded(async ({ headers }) => {
      const token = BEARER.exec(headers.get("authorization") ?? "")?.[1];
      if (token === undefined) return false;
      try {
        const { payload } = await jwtVerify(token, key, rules);
        return typeof payload.sub === "string";
      } catch {
        return false;
      }
    });
  },

  "cross-origin": () => (request) => {
    const { headers } = request;
    const site = headers.get("sec-fetch-site");
    if (site === "same-origin" || site === "none") return answer(request);
    return site === null && headers.get("origin") === null ? answer(request) : refuse(403);
  },
};

/** Begins sessions at `/login`, and asks for one everywhere else. */
function signingIn(
  keep: (session: Session) => Promise<string>,
  find: (value: string) => Promise<unknown>,
): Handler {
  const admitted = guarded(async ({ headers }) => {
    const value = SESSION.exec(headers.get("cookie") ?? "")?.[1];
    const session = value === undefined ? undefined : await find(value) as Session | undefined;
    return typeof session?.userId === "number";
  });
  return async (request, info) => {
    if (!request.url.endsWith("/login")) return admitted(request, info);
    const cookie = `${COOKIE}=${await keep({ userId: 42 })}; Path=/; Secure; HttpOnly; SameSite=Lax`;
    return new Response(null, { status: 204, headers: { "set-cookie": cookie } });
  };
}

const handler = await HANDLERS[guard]!();
listen(async (request, info) => handler(request, info as Deno.ServeHandlerInfo<Deno.NetAddr>));
