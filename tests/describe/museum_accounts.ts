// The routes of the museum that require credentials, of all kinds that documents can express.

import { anySecurity, dependency, HTTPError, Problem, Router } from "@webfw/core";
import type { SecurityScheme } from "@webfw/core/types";
import * as v from "valibot";

/** The credentials in `Authorization` and in every other place. */
export const TOKEN = "ada";

const NotSignedIn = v.pipe(Problem, v.description("The token is missing, or unknown."));

/** A route for each way. */
export function accounts(): Router {
  const router = new Router({ prefix: "/accounts" });
  const authorizationUrl = "https://example.org/authorize";
  const tokenUrl = "https://example.org/token";
  const ways: Readonly<Record<string, SecurityScheme>> = {
    bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
    basic: { type: "http", scheme: "basic" },
    provider: { type: "openIdConnect", openIdConnectUrl: "https://example.org/.well-known/openid-configuration" },
  };
  const refusal = (): HTTPError => new HTTPError(401, "Sign in", { headers: { "www-authenticate": "Bearer" } });
  const respond = { response: v.object({ user: v.string() }), responses: { 401: NotSignedIn }, tags: ["accounts"] };
  const headers = { authorization: v.optional(v.string(), "") };
  const check = (authorization: string): string => {
    const [scheme = "", value = ""] = authorization.split(" ");
    const token = scheme.toLowerCase() === "basic" ? atobOrNothing(value).split(":")[0] : value;
    if (token !== TOKEN) throw refusal();
    return token;
  };
  for (const [name, scheme] of Object.entries(ways)) {
    const user = dependency(
      { headers, security: { [name]: scheme } },
      async (_request, { headers }) => check(headers.authorization),
    );
    router.get(`/${name}`, { ...respond, deps: { user }, operationId: `get_${name}` }, async (_request, { user }) => {
      return { user };
    });
  }
  const scopes = { "exhibits:read": "Look at exhibits", "exhibits:write": "Change exhibits" };
  const oauth = dependency({
    headers,
    security: {
      oauth: {
        type: "oauth2",
        scopes: ["exhibits:read"],
        flows: {
          authorizationCode: { authorizationUrl, tokenUrl, scopes },
          clientCredentials: { tokenUrl, scopes },
        },
      },
    },
  }, async (_request, { headers }) => check(headers.authorization));
  router.get("/oauth", { ...respond, deps: { user: oauth } }, async function getOauth(_request, { user }) {
    return { user };
  });
  const keyed = dependency({
    headers: { "x-key": v.optional(v.string()) },
    query: { key: v.optional(v.string()) },
    cookies: { key: v.optional(v.string()) },
    security: anySecurity(
      { header: { type: "apiKey", in: "header", name: "X-Key" } },
      { query: { type: "apiKey", in: "query", name: "key" } },
      { cookie: { type: "apiKey", in: "cookie", name: "key" } },
    ),
  }, async (_request, { headers, key, cookies }) => {
    const given = headers["x-key"] ?? key ?? cookies.key;
    if (given !== TOKEN) throw refusal();
    return given;
  });
  router.get("/keyed", { ...respond, deps: { user: keyed } }, async function getKeyed(_request, { user }) {
    return { user };
  });
  return router;
}

function atobOrNothing(base64: string): string {
  try {
    return atob(base64);
  } catch {
    return "";
  }
}
