// "Where a scheme is `oauth2` or `openIdConnect`, the challenge carries `resource_metadata`, and
// `GET /.well-known/oauth-protected-resource` and `…/mcp` (the path of the endpoint) answer RFC
// 9728 metadata made from the declared schemes; not in the document."

import { assertEquals } from "@std/assert";
import { anySecurity, App, type AppOptions, type Dependency, dependency, HTTPError } from "@webfw/core";
import type { SecurityRequirement } from "@webfw/core/types";
import { bearer, jwt, optional } from "@webfw/core/auth";
import { Agent } from "../../agents/agent.ts";

const ISSUER = "https://id.example";
const openid: SecurityRequirement = {
  id: { type: "openIdConnect", openIdConnectUrl: `${ISSUER}/.well-known/openid-configuration` },
};
const scoped: SecurityRequirement = {
  id: {
    type: "openIdConnect",
    openIdConnectUrl: `${ISSUER}/.well-known/openid-configuration`,
    scopes: ["books:read", "books:list"],
  },
};
const oauth: SecurityRequirement = {
  oauth: {
    type: "oauth2",
    flows: {
      authorizationCode: {
        authorizationUrl: "https://id.example/auth",
        tokenUrl: "https://id.example/token",
        scopes: { "books:read": "Read books", "books:write": "Change books" },
      },
    },
  },
};
const ROOT = "/.well-known/oauth-protected-resource";

/** A guard that refuses every request. */
function guardOf(security: SecurityRequirement, challenge: string | null = 'Bearer realm="id"', status = 401) {
  return dependency({ security }, async () => {
    throw new HTTPError(status, "Sign in", { headers: challenge === null ? {} : { "www-authenticate": challenge } });
  });
}

/** An application with a guarded route, which is a tool. */
function appOf(guard: Dependency<unknown>, options: AppOptions = {}): App {
  const app = new App({ title: "Books", ...options });
  app.get("/books", { deps: { guard }, tool: true }, async function books() {});
  return app;
}

async function challengeOf(app: App, path = "/books"): Promise<string | null> {
  const response = await app.fetch(new Request(`http://localhost${path}`));
  await response.body?.cancel();
  return response.headers.get("www-authenticate");
}

async function agentChallengeOf(app: App): Promise<string | null> {
  const params = { name: "books", arguments: {} };
  const { headers } = await new Agent(app).post({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  return headers.get("www-authenticate");
}

async function metadata(app: App, path: string, host = "http://localhost"): Promise<unknown> {
  const response = await app.fetch(new Request(host + path));
  return response.ok ? await response.json() : (await response.body?.cancel(), response.status);
}

Deno.test("The challenge carries resource_metadata, on replies of routes and of /mcp", async () => {
  const at = "http://localhost/.well-known/oauth-protected-resource";
  for (const security of [openid, oauth]) {
    const app = appOf(guardOf(security));
    assertEquals(await challengeOf(app), `Bearer resource_metadata="${at}", realm="id"`);
    assertEquals(await agentChallengeOf(app), `Bearer resource_metadata="${at}/mcp", realm="id"`);
  }
});

Deno.test("The challenge of other schemes carries no resource_metadata", async () => {
  const app = appOf(bearer(async () => null));
  app.get("/open", async () => {
    throw new HTTPError(401, "By the handler", { headers: { "www-authenticate": "Bearer" } });
  });
  app.get("/books/{id}", { deps: { guard: guardOf(openid) } }, async () => {});
  assertEquals(await challengeOf(app), 'Bearer realm="bearer"');
  assertEquals(await agentChallengeOf(app), 'Bearer realm="bearer"');
  assertEquals(await challengeOf(app, "/open"), "Bearer");
});

Deno.test("resource_metadata goes into the Bearer challenge, whatever stands beside it", async () => {
  const parameter = `resource_metadata="http://localhost${ROOT}"`;
  const cases: [string | null, string][] = [
    [null, `Bearer ${parameter}`],
    ["Bearer", `Bearer ${parameter}`],
    ["bearer", `bearer ${parameter}`],
    ["Bearer, Basic realm=a", `Bearer ${parameter}, Basic realm=a`],
    ['Basic realm="x, Bearer y\\", Bearer z"', `Basic realm="x, Bearer y\\", Bearer z", Bearer ${parameter}`],
    ['Basic realm="a", Bearer error="invalid_token"', `Basic realm="a", Bearer ${parameter}, error="invalid_token"`],
    ["Digest bearer=a", `Digest bearer=a, Bearer ${parameter}`],
    ['Bearer resource_metadata="https://own.example/m"', 'Bearer resource_metadata="https://own.example/m"'],
    ['Bearer realm=", resource_metadata=no"', `Bearer ${parameter}, realm=", resource_metadata=no"`],
  ];
  for (const [given, expected] of cases) assertEquals(await challengeOf(appOf(guardOf(openid, given))), expected);
});

Deno.test("A 403 keeps its headers, and carries resource_metadata if it has a Bearer challenge", async () => {
  const scope = 'Bearer error="insufficient_scope", scope="books:write"';
  assertEquals(
    await challengeOf(appOf(guardOf(openid, scope, 403))),
    `Bearer resource_metadata="http://localhost${ROOT}", error="insufficient_scope", scope="books:write"`,
  );
  assertEquals(await challengeOf(appOf(guardOf(openid, null, 403))), null);
});

Deno.test("The challenge of a WebSocket carries resource_metadata", async () => {
  const app = new App();
  app.websocket("/live", { deps: { guard: guardOf(openid) } }, async () => {});
  const response = await app.fetch(
    new Request("http://localhost/live", {
      headers: {
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      },
    }),
  );
  assertEquals(response.status, 401);
  assertEquals(
    response.headers.get("www-authenticate"),
    `Bearer resource_metadata="http://localhost${ROOT}", realm="id"`,
  );
  await response.body?.cancel();
});

Deno.test("The challenge of a 401 carries the scopes that the guards of the route require", async () => {
  const app = appOf(guardOf(scoped));
  app.get("/own", { deps: { guard: guardOf(scoped, 'Bearer scope="own"') } }, async () => {});
  const parameter = `resource_metadata="http://localhost${ROOT}`;
  const scope = 'scope="books:read books:list"';
  assertEquals(await challengeOf(app), `Bearer ${parameter}", ${scope}, realm="id"`);
  assertEquals(await agentChallengeOf(app), `Bearer ${parameter}/mcp", ${scope}, realm="id"`);
  assertEquals(await challengeOf(app, "/own"), `Bearer ${parameter}", scope="own"`);
  const broken: SecurityRequirement = { id: { ...openid.id!, scopes: ['a"b', "c d", "é", "f\r\ng", "ok"] } as never };
  assertEquals(await challengeOf(appOf(guardOf(broken))), `Bearer ${parameter}", scope="ok", realm="id"`);
});

Deno.test("The metadata is made from the declared schemes", async () => {
  const common = { bearer_methods_supported: ["header"], resource_name: "Books" };
  const app = appOf(guardOf(scoped));
  app.get("/write", { deps: { guard: guardOf(oauth) } }, async () => {});
  assertEquals(await metadata(app, ROOT), {
    resource: "http://localhost",
    authorization_servers: [ISSUER],
    scopes_supported: ["books:read", "books:list", "books:write"],
    ...common,
    resource_documentation: "http://localhost/docs",
  });
  // Only what the tools need.
  assertEquals(await metadata(app, `${ROOT}/mcp`), {
    resource: "http://localhost/mcp",
    authorization_servers: [ISSUER],
    scopes_supported: ["books:read", "books:list"],
    ...common,
    resource_documentation: "http://localhost/docs",
  });
});

Deno.test("Members without a value are left out of the metadata", async () => {
  const security: SecurityRequirement = {
    id: { type: "openIdConnect", openIdConnectUrl: "https://id.example/elsewhere" },
  };
  assertEquals(await metadata(appOf(guardOf(security), { docsUrl: null }), ROOT), {
    resource: "http://localhost",
    bearer_methods_supported: ["header"],
    resource_name: "Books",
  });
});

Deno.test("The path of the endpoint stands behind the well-known path", async () => {
  const app = appOf(guardOf(openid), { mcpUrl: "/agents/v1" });
  const { resource } = await metadata(app, `${ROOT}/agents/v1`) as { resource: string };
  assertEquals(resource, "http://localhost/agents/v1");
  assertEquals(await metadata(app, `${ROOT}/mcp`), 404);
  const without = appOf(guardOf(openid), { mcpUrl: null });
  assertEquals(await metadata(without, `${ROOT}/mcp`), 404);
  assertEquals((await metadata(without, ROOT) as { resource: string }).resource, "http://localhost");
});

Deno.test("A scheme among alternatives, or of a dependency's dependency, counts", async () => {
  const key: SecurityRequirement = { key: { type: "apiKey", in: "header", name: "x-key" } };
  const either = guardOf(anySecurity(key, openid));
  assertEquals((await metadata(appOf(either), ROOT) as { resource: string }).resource, "http://localhost");
  const inner = dependency({ deps: { either } }, async () => {});
  assertEquals((await metadata(appOf(inner), ROOT) as { resource: string }).resource, "http://localhost");
});

Deno.test("Without such a scheme there is no metadata", async () => {
  const app = appOf(bearer(async () => null));
  app.get("/{path...}", async () => "everything else");
  assertEquals(await metadata(app, ROOT), "everything else");
  assertEquals(await metadata(app, `${ROOT}/mcp`), "everything else");
});

Deno.test("A route of the application at the path of the metadata wins, and one for every path does not", async () => {
  const app = appOf(guardOf(openid));
  app.get(ROOT, async () => "my own");
  app.get("/{path...}", async () => "everything else");
  assertEquals(await metadata(app, ROOT), "my own");
  assertEquals((await metadata(app, `${ROOT}/mcp`) as { resource: string }).resource, "http://localhost/mcp");
});

Deno.test("The metadata is not in the document", () => {
  const app = appOf(guardOf(openid));
  assertEquals(Object.keys(app.openapi().paths), ["/books"]);
});

Deno.test("Pages of all origins may read the metadata, with the header of the protocol", async () => {
  const app = appOf(guardOf(openid));
  const response = await app.fetch(
    new Request(`http://localhost${ROOT}/mcp`, {
      method: "OPTIONS",
      headers: {
        origin: "https://inspector.example",
        "access-control-request-method": "GET",
        "access-control-request-headers": "mcp-protocol-version",
      },
    }),
  );
  assertEquals(response.status, 204);
  assertEquals(response.headers.get("access-control-allow-origin"), "*");
  assertEquals(response.headers.get("access-control-allow-headers"), "mcp-protocol-version");
  const read = await app.fetch(
    new Request(`http://localhost${ROOT}/mcp`, { headers: { origin: "https://inspector.example" } }),
  );
  assertEquals(read.headers.get("access-control-allow-origin"), "*");
  assertEquals(read.headers.get("cache-control"), "no-store");
  await read.body?.cancel();
});

Deno.test("The metadata is not served under a host that the application does not have", async () => {
  const app = appOf(guardOf(openid), { mcp: { hosts: ["books.example"] } });
  assertEquals(await metadata(app, ROOT, "http://evil.example"), 403);
  assertEquals(
    (await metadata(app, ROOT, "https://books.example") as { resource: string }).resource,
    "https://books.example",
  );
  // A page whose host name leads to this machine.
  const rebound = new Request(`http://evil.example${ROOT}`);
  const info = { remoteAddr: { transport: "tcp", hostname: "127.0.0.1", port: 1 } } as const;
  const refused = await appOf(guardOf(openid)).fetch(rebound, info);
  assertEquals(refused.status, 403);
  await refused.body?.cancel();
});

Deno.test("The URLs have the scheme and the host that the client used, behind a trusted proxy", async () => {
  const guard = guardOf(openid);
  const forwarded = { "x-forwarded-proto": "https", "x-forwarded-host": "books.example", "x-forwarded-for": "8.8.8.8" };
  const info = { remoteAddr: { transport: "tcp", hostname: "10.0.0.1", port: 1 } } as const;
  const resourceOf = async (options: AppOptions) => {
    const app = appOf(guard, { mcp: { hosts: ["inner", "books.example"] }, ...options });
    const response = await app.fetch(new Request(`http://inner${ROOT}/mcp`, { headers: forwarded }), info);
    const challenged = await app.fetch(new Request("http://inner/books", { headers: forwarded }), info);
    await challenged.body?.cancel();
    return [(await response.json()).resource, challenged.headers.get("www-authenticate")];
  };
  const expected = (origin: string) => [`${origin}/mcp`, `Bearer resource_metadata="${origin}${ROOT}", realm="id"`];
  assertEquals(
    await resourceOf({ trustProxy: 1, hosts: ["inner", "books.example"] }),
    expected("https://books.example"),
  );
  assertEquals(await resourceOf({}), expected("http://inner"));
});

Deno.test("A guard of a scope counts as one of its routes", async () => {
  const app = new App({ title: "Books", deps: { user: guardOf(openid) } });
  app.get("/books", { tool: true }, async function books() {});
  const at = "http://localhost/.well-known/oauth-protected-resource";
  assertEquals(await challengeOf(app), `Bearer resource_metadata="${at}", realm="id"`);
  assertEquals(await agentChallengeOf(app), `Bearer resource_metadata="${at}/mcp", realm="id"`);
  assertEquals((await metadata(app, ROOT) as { authorization_servers: string[] }).authorization_servers, [ISSUER]);
});

Deno.test("The servers of the metadata are the issuers of the jwt guards, also of those that others are made of", async () => {
  const member = jwt({
    issuer: "https://id.example/realms/books",
    audience: null,
    oauth2: {
      authorizationUrl: "https://id.example/realms/books/auth",
      tokenUrl: "https://id.example/realms/books/token",
      scopes: { "books:read": "Read books", "books:write": "Change books" },
    },
  });
  const either = anySecurity(member, bearer(async () => null));
  for (const guard of [member, member.withScopes("books:write"), optional(member), either]) {
    const { authorization_servers, scopes_supported } = await metadata(appOf(guard), ROOT) as Record<string, unknown>;
    assertEquals(authorization_servers, ["https://id.example/realms/books"]);
    assertEquals(scopes_supported, ["books:read", "books:write"]);
  }
  assertEquals(
    await agentChallengeOf(appOf(member.withScopes("books:write"))),
    `Bearer resource_metadata="http://localhost${ROOT}/mcp", scope="books:write", realm="jwt"`,
  );
  const plain = jwt({ issuer: "https://id.example", audience: null });
  assertEquals(await metadata(appOf(plain), ROOT), 404);
});

Deno.test("The challenge of a mount carries resource_metadata, and a mount of every path leaves the metadata", async () => {
  const app = new App({ deps: { user: guardOf(openid) } });
  app.mount("/", () => new Response("mounted"));
  assertEquals(await challengeOf(app, "/any"), `Bearer resource_metadata="http://localhost${ROOT}", realm="id"`);
  assertEquals((await metadata(app, ROOT) as { resource: string }).resource, "http://localhost");
});
