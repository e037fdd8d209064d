// An application whose routes return their input, with all kinds of input and output.

import { App, dependency, html, HTTPError, Problem, Router } from "@webfw/core";
import * as v from "valibot";
import {
  Code,
  Instant,
  int,
  Network,
  NewReading,
  NewStation,
  Reading,
  Region,
  Settings,
  Station,
  StationChanges,
} from "./station_models.ts";

const NoSuchStation = v.pipe(Problem, v.description("There is no such station."));
const Taken = v.pipe(
  v.intersect([Problem, v.looseObject({ status: v.literal(409), by: v.bigint() })]),
  v.title("Taken"),
);

const trace = dependency(
  { headers: { "X-Trace": v.optional(v.pipe(v.string(), v.hexadecimal())) } },
  async (_request, { headers }) => headers["X-Trace"] ?? "none",
);
/** Has its own inputs, and one that handlers declare, too. */
const page = dependency({
  deps: { trace },
  query: { offset: v.optional(v.pipe(int, v.minValue(0)), 0), limit: v.optional(v.pipe(int, v.minValue(1)), 2) },
  headers: { "x-columns": v.optional(v.pipe(v.array(v.pipe(v.string(), v.slug())), v.maxLength(3)), ["all"]) },
  cookies: { theme: v.optional(v.picklist(["dark", "light"]), "dark") },
}, async (_request, { trace, offset, limit, headers, cookies }) => {
  return { trace, offset, limit, columns: headers["x-columns"], theme: cookies.theme };
});
/** A guard that refuses before the handler runs. */
const staff = dependency(
  { headers: { "x-role": v.optional(v.picklist(["guest", "staff"]), "staff") } },
  async (_request, { headers }) => {
    if (headers["x-role"] === "guest") throw new HTTPError(403, "Guests only look");
    return headers["x-role"];
  },
);

const Page = v.object({
  trace: v.string(),
  offset: int,
  limit: int,
  columns: v.array(v.string()),
  theme: v.string(),
});

/** Makes the application. */
export function stationsApp(): App {
  const app = new App({ title: "Stations", version: "2.0.0" });
  const stations = stationRoutes();
  app.include(stations, { prefix: "/networks/{network}" });
  app.include(stations, { prefix: "/v2/{network}" });
  app.include(searches());
  app.include(bodies());
  return app;
}

/** The prefix contains the network. */
function stationRoutes(): Router {
  const router = new Router({ prefix: "/stations" });
  const one = { params: { code: Code }, query: { network: Network } };
  router.put("/{code}", {
    ...one,
    body: NewStation,
    response: Station,
    status: 201,
    responses: { 403: Problem, 409: Taken },
    deps: { staff },
    tool: true,
  }, async function putStation(request, { network, code, body }) {
    if (code.endsWith("0")) throw new HTTPError(409, "Taken", { extensions: { by: body.serial.toString() } });
    request.replyHeaders.set("location", request.path);
    return { ...body, network, code };
  });
  router.get("/{code}", {
    ...one,
    response: Station,
    responses: { 404: NoSuchStation },
    tool: true,
  }, async function getStation(_request, { network, code }) {
    if (code.endsWith("4")) throw new HTTPError(404, "No such station");
    const opened = new Date(Number(code.slice(3)) * 1e9);
    return {
      network,
      code,
      name: code,
      position: [1, -1],
      altitude: 0,
      opened,
      keeper: null,
      serial: 5n,
      tags: [],
      limits: {},
    };
  });
  router.patch("/{code}", { ...one, body: StationChanges }, async function changeStation() {});
  router.delete("/{code}", { ...one, deps: { staff }, status: 204, responses: { 403: Problem } }, async () => {});
  router.get("/{code}/readings", {
    ...one,
    query: {
      ...one.query,
      since: v.optional(Instant),
      limit: v.optional(v.pipe(int, v.minValue(1), v.maxValue(5)), 2),
    },
    deps: { page },
    response: v.object({ n: int, at: v.date(), serial: v.bigint(), page: v.nullable(Page) }),
  }, async function* readings(_request, { since, limit, page }) {
    for (let n = 0; n < limit; n++) {
      yield { n, at: since ?? new Date(n), serial: BigInt(n), page: n === 0 ? page : null };
    }
  });
  router.post("/{code}/readings", {
    ...one,
    body: v.pipe(v.array(NewReading), v.minLength(1), v.maxLength(4)),
    response: v.object({ count: int, last: v.nullable(Reading), page: Page }),
    deps: { page },
    tool: true,
  }, async function addReadings(_request, { body, page }) {
    return { count: body.length, last: body.at(-1) ?? null, page };
  });
  return router;
}

/** Takes text of every kind. */
function searches(): Router {
  const router = new Router({ prefix: "/search" });
  router.get("/{count}/{share}/{big}/{flag}/{kind}/{rest...}", {
    params: {
      count: v.pipe(int, v.minValue(-3), v.maxValue(12), v.notValue(0)),
      share: v.pipe(v.number(), v.gtValue(0), v.ltValue(1)),
      big: v.pipe(v.bigint()),
      flag: v.boolean(),
      kind: v.picklist(["a/b", "ü", 1, "1.0"]),
    },
    query: {
      tags: v.optional(v.pipe(v.array(v.pipe(v.string(), v.minLength(1))), v.maxLength(3)), ["none"]),
      numbers: v.pipe(v.array(v.pipe(v.number(), v.multipleOf(0.25))), v.minLength(1)),
      pair: v.exactOptional(v.strictTuple([int, v.nullable(v.boolean())])),
      either: v.optional(v.union([v.pipe(int, v.minValue(10)), v.literal("all"), v.null()]), "all"),
      since: v.optional(Instant, "2026-01-01T00:00:00Z"),
      exact: v.optional(v.union([v.literal(true), v.picklist([7, "seven"])])),
      word: v.optional(v.pipe(v.string(), v.trim(), v.nonEmpty())),
      "a[b]&c=d ü": v.optional(v.string(), "x"),
      none: v.nullish(v.pipe(v.string(), v.length(2)), "no"),
    },
    deps: { page },
    response: v.object({
      count: int,
      share: v.number(),
      big: v.bigint(),
      flag: v.boolean(),
      kind: v.union([v.string(), int]),
      rest: v.string(),
      tags: v.array(v.string()),
      numbers: v.array(v.number()),
      pair: v.optional(v.tuple([int, v.nullable(v.boolean())])),
      either: v.nullable(v.union([int, v.string()])),
      since: v.date(),
      exact: v.optional(v.union([v.boolean(), int, v.string()])),
      word: v.optional(v.string()),
      "a[b]&c=d ü": v.string(),
      none: v.nullable(v.string()),
      page: Page,
    }),
    tool: true,
  }, async function searchAll(_request, args) {
    return args;
  });
  router.get("/near/{name}", { response: v.optional(v.string()), tool: true }, async function near(_request, { name }) {
    return name.includes("a") ? name : undefined;
  });
  router.get("/near/here", { query: { page: v.optional(v.boolean()) } }, async function here(_request, { page }) {
    return page ? html("<p>here</p>") : undefined;
  });
  return router;
}

/** Takes bodies of every kind. */
function bodies(): Router {
  const router = new Router();
  router.post("/regions", { body: Region, response: Region, tool: true }, async function addRegion(_request, { body }) {
    return body;
  });
  router.post(
    "/settings",
    { body: v.optional(Settings), response: v.nullable(Settings), tool: true },
    async function set(_request, { body }) {
      return body ?? null;
    },
  );
  router.post("/settings/{name}", {
    query: { dry: v.optional(v.boolean(), false) },
    body: v.record(v.string(), v.nullable(Settings)),
    response: v.array(v.strictTuple([v.string(), v.nullable(Settings)])),
    tool: true,
  }, async function setMany(_request, { body, dry }) {
    return dry ? [] : Object.entries(body);
  });
  router.route("/purge", { methods: ["PURGE"], body: v.array(Code) }, async () => {});
  return router;
}
