// An application with the usual features. Its documents are input for client generators.

import {
  App,
  Bytes,
  Events,
  Form,
  Html,
  html,
  HTTPError,
  JsonLines,
  Problem,
  redirect,
  Router,
  SSE,
  Stream,
  Text,
  text,
} from "@webfw/core";
import * as v from "valibot";
import { accounts } from "./museum_accounts.ts";
import {
  Conversion,
  Converted,
  Exhibit,
  ExhibitChanges,
  Happening,
  Id,
  Instant,
  int,
  Kind,
  Measure,
  NewExhibit,
  Person,
  Pictures,
  Room,
  SentHappening,
  Staff,
  Ticket,
} from "./museum_models.ts";

/** Of routes whose replies have another media type than JSON, and do not declare it. */
const UNDECLARED = ["undeclared"];

const NoSuchExhibit = v.pipe(Problem, v.description("There is no such exhibit."));
const Taken = v.pipe(
  v.intersect([Problem, v.looseObject({ by: v.string() })]),
  v.title("Taken"),
);
const PNG = Bytes("image/png");
const Picture = v.pipe(v.blob(), v.mimeType(["image/png"]));

/** Makes the application. */
export function museumApp(): App {
  const app = new App({ title: "Museum", version: "1.2.0", description: "Exhibits, and who looks after **them**." });
  app.include(exhibits());
  app.include(models());
  app.include(parameters());
  app.include(forms());
  app.include(streams());
  app.include(accounts());
  return app;
}

/** A resource as most are: a list, and one with its life. */
function exhibits(): Router {
  const router = new Router({ prefix: "/exhibits" });
  const known = new Map<number, Exhibit>();
  let last = 0;
  const find = (id: number): Exhibit => {
    const found = known.get(id);
    if (!found) throw new HTTPError(404, "No such exhibit");
    return found;
  };
  const one = { params: { id: Id }, responses: { 404: NoSuchExhibit }, tags: ["exhibits"] };
  router.get("", {
    query: {
      limit: v.optional(v.pipe(int, v.minValue(1), v.maxValue(100)), 20),
      offset: v.optional(v.pipe(int, v.minValue(0)), 0),
      kind: v.optional(Kind),
      sort: v.optional(v.picklist(["name", "year"]), "name"),
    },
    response: v.object({ items: v.array(Exhibit), total: int, next: v.nullable(v.string()) }),
    tags: ["exhibits"],
  }, async function listExhibits(_request, { limit, offset, kind }) {
    "List exhibits.\n\nThose of a kind, or all.";
    const all = [...known.values()].filter((exhibit) => kind === undefined || exhibit.kind === kind);
    return { items: all.slice(offset, offset + limit), total: all.length, next: null };
  });
  router.post("", {
    body: NewExhibit,
    response: Exhibit,
    status: 201,
    responses: { 409: Taken },
    tags: ["exhibits"],
  }, async function addExhibit(request, { body }) {
    if (body.name === "taken") throw new HTTPError(409, "Taken", { extensions: { by: "Ada" } });
    const exhibit = { ...body, id: ++last, checked: null };
    known.set(exhibit.id, exhibit);
    request.replyHeaders.set("location", `${request.path}/${exhibit.id}`);
    return exhibit;
  });
  router.get("/{id}", { ...one, response: Exhibit }, async function getExhibit(_request, { id }) {
    return find(id);
  });
  router.put(
    "/{id}",
    { ...one, body: NewExhibit, response: Exhibit },
    async function putExhibit(_request, { id, body }) {
      find(id);
      known.set(id, { ...body, id, checked: new Date(0) });
      return find(id);
    },
  );
  router.patch("/{id}", { ...one, body: ExhibitChanges, response: Exhibit }, async (_request, { id, body }) => {
    const { name = find(id).name, year = find(id).year, shown = find(id).shown } = body;
    known.set(id, { ...find(id), name, year, shown });
    return find(id);
  });
  router.delete("/{id}", { ...one, status: 204 }, async function removeExhibit(_request, { id }) {
    find(id);
    known.delete(id);
  });
  return router;
}

/** Returns its input. */
function models(): Router {
  const router = new Router({ prefix: "/models" });
  const tags = ["models"];
  router.post("/rooms", { body: Room, response: Room, tags }, async function echoRoom(_request, { body }) {
    return body;
  });
  router.post("/happenings", {
    body: v.array(Happening),
    response: v.array(SentHappening),
    tags,
  }, async function echoHappenings(_request, { body }) {
    return body;
  });
  router.put("/happening", {
    body: Happening,
    response: SentHappening,
    tags,
  }, async function echoHappening(_request, { body }) {
    return body;
  });
  router.post("/measures", { body: Measure, response: Measure, tags }, async function echoMeasure(_request, { body }) {
    return body;
  });
  router.post("/converted", {
    body: Converted,
    response: Conversion,
    tags,
  }, async function convert(_request, { body: { day, ...rest } }) {
    return { ...rest, day };
  });
  router.post("/staff", {
    body: Staff,
    response: v.object({ staff: Staff, deputy: v.nullable(Person) }),
    tags,
  }, async function echoStaff(_request, { body }) {
    return { staff: body, deputy: null };
  });
  router.put("/maybe", {
    body: v.optional(v.nullable(v.object({ a: v.string() }))),
    response: v.nullable(v.object({ a: v.string() })),
    tags,
  }, async function echoMaybe(_request, { body }) {
    return body ?? null;
  });
  router.put("/counts", {
    body: v.record(v.string(), int),
    response: v.record(v.string(), int),
    tags,
  }, async function echoCounts(_request, { body }) {
    return body;
  });
  router.put("/names", {
    body: v.array(v.string()),
    response: v.array(v.string()),
    tags,
  }, async function echoNames(_request, { body }) {
    return body;
  });
  router.put("/instant", { body: Instant, response: v.date(), tags }, async (_request, { body }) => body);
  router.put("/anything", { body: v.unknown() }, async (_request, { body }) => ({ body }));
  return router;
}

/** Gives back its parameters. */
function parameters(): Router {
  const router = new Router({ prefix: "/parameters" });
  router.get("/path/{word}/{count}/{share}/{big}/{kind}/{id}/{day}", {
    params: {
      count: int,
      share: v.number(),
      big: v.bigint(),
      kind: Kind,
      id: v.pipe(v.string(), v.uuid()),
      day: v.pipe(v.string(), v.isoDate()),
    },
    response: v.object({
      word: v.string(),
      count: int,
      share: v.number(),
      big: v.bigint(),
      kind: Kind,
      id: v.string(),
      day: v.string(),
    }),
  }, async function echoPath(_request, args) {
    return args;
  });
  router.get("/query", {
    query: {
      word: v.pipe(v.string(), v.minLength(2), v.maxLength(9)),
      since: v.optional(Instant),
      day: v.optional(v.pipe(v.string(), v.isoDate())),
      id: v.optional(v.pipe(v.string(), v.uuid())),
      email: v.optional(v.pipe(v.string(), v.email())),
      link: v.optional(v.pipe(v.string(), v.url())),
      words: v.optional(v.array(v.string()), []),
      counts: v.pipe(v.array(v.pipe(int, v.minValue(0))), v.minLength(1), v.maxLength(9)),
      kinds: v.optional(v.array(Kind)),
      either: v.optional(v.union([int, v.literal("all")]), "all"),
      nothing: v.optional(v.nullable(int)),
      flag: v.optional(v.boolean(), false),
      share: v.optional(v.pipe(v.number(), v.minValue(0), v.ltValue(1)), 0.5),
      "filter[name]": v.optional(v.string()),
      from: v.optional(v.string()),
    },
    response: v.object({
      word: v.string(),
      since: v.optional(v.date()),
      day: v.optional(v.pipe(v.string(), v.isoDate())),
      id: v.optional(v.pipe(v.string(), v.uuid())),
      email: v.optional(v.pipe(v.string(), v.email())),
      link: v.optional(v.pipe(v.string(), v.url())),
      words: v.array(v.string()),
      counts: v.array(int),
      kinds: v.optional(v.array(Kind)),
      either: v.union([int, v.string()]),
      nothing: v.optional(v.nullable(int)),
      flag: v.boolean(),
      share: v.number(),
      "filter[name]": v.optional(v.string()),
      from: v.optional(v.string()),
    }),
  }, async function echoQuery(_request, args) {
    return args;
  });
  router.get("/headers", {
    headers: {
      "X-Count": v.pipe(int, v.minValue(0)),
      "x-word": v.optional(v.pipe(v.string(), v.slug())),
    },
    cookies: { theme: v.optional(v.picklist(["dark", "light"]), "dark"), visits: v.optional(int) },
    response: v.object({ count: int, word: v.optional(v.string()), theme: v.string(), visits: v.nullable(int) }),
    deprecated: true,
    summary: "What headers and cookies say",
  }, async function echoHeaders(_request, { headers, cookies }) {
    return {
      count: headers["X-Count"],
      word: headers["x-word"],
      theme: cookies.theme,
      visits: cookies.visits ?? null,
    };
  });
  router.get(
    "/rest/{path...}",
    { response: v.object({ path: v.string() }) },
    async function echoRest(_request, { path }) {
      return { path };
    },
  );
  return router;
}

/** Takes forms. */
function forms(): Router {
  const router = new Router({ prefix: "/forms" });
  const tags = ["forms"];
  router.post("/tickets", {
    form: Form(Ticket),
    response: Ticket,
    status: 202,
    tags,
  }, async function orderTicket(_request, { form }) {
    return form;
  });
  router.post("/pictures", {
    form: Form(Pictures),
    response: v.object({
      caption: v.string(),
      sizes: v.array(int),
      year: v.nullable(int),
      rights: Pictures.pipe[0].entries.rights,
      labels: v.array(v.string()),
    }),
    tags,
  }, async function addPictures(_request, { form: { caption, cover, details, year, rights, labels } }) {
    const sizes = [cover, ...details].map(({ size }) => size);
    return { caption, sizes, year: year ?? null, rights, labels: labels.map(({ text }) => text) };
  });
  return router;
}

/** Inputs and outputs that are not JSON of a model. */
function streams(): Router {
  const router = new Router({ prefix: "/streams" });
  const tags = ["streams"];
  const item = v.object({ n: int, at: v.date() });
  router.put("/bytes", {
    body: Stream(),
    response: v.object({ size: int }),
    tags,
  }, async function putBytes(_request, { body }) {
    let size = 0;
    for await (const chunk of body) size += chunk.length;
    return { size };
  });
  router.get("/bytes", { response: v.instance(Uint8Array), tags }, async function* getBytes() {
    yield new Uint8Array([1, 2, 3]);
  });
  router.get("/picture", { response: Picture, tags }, async function getPicture() {
    return new Blob([new Uint8Array([137, 80, 78, 71])], { type: "image/png" });
  });
  router.get("/lines", {
    query: { count: v.optional(v.pipe(int, v.minValue(0), v.maxValue(9)), 2) },
    response: item,
    tags,
  }, async function* getLines(_request, { count }) {
    for (let n = 0; n < count; n++) yield { n, at: new Date(n) };
  });
  router.get("/events", { tags: UNDECLARED }, async function getEvents() {
    return SSE((async function* () {
      yield { n: 1 };
    })());
  });
  router.get("/text", { tags: UNDECLARED }, async function getText() {
    return text("plain");
  });
  router.get("/page", { tags: UNDECLARED }, async function getPage() {
    return html("<p>page</p>");
  });
  const Step = v.pipe(v.object({ n: int, done: v.boolean() }), v.title("Step"));
  router.get("/declared/events", { response: Events(Step), tags }, async function* watchSteps() {
    yield { n: 1, done: false };
    yield { event: "end", id: "2", data: { n: 2, done: true } };
  });
  router.post(
    "/declared/answers",
    { body: v.object({ to: int }), response: Events(Step), tags },
    async function* answer(
      _request,
      { body },
    ) {
      for (let n = 1; n <= Math.min(body.to, 3); n++) yield { n, done: n === 3 };
    },
  );
  router.get("/declared/lines", { response: JsonLines(Step), tags }, async function* listSteps() {
    yield { n: 1, done: true };
  });
  router.get("/declared/bytes", { response: PNG, tags }, async function getDeclaredBytes() {
    return new Uint8Array([137, 80, 78, 71]);
  });
  router.get("/declared/csv", { response: Text("text/csv"), tags }, async function getTable() {
    return "a,b\r\n";
  });
  router.get("/declared/page", { response: Html(), tags }, async function getDeclaredPage() {
    return "<p>page</p>";
  });
  router.post("/declared/headers", {
    status: 201,
    response: Step,
    responses: {
      201: { description: "The step is there.", headers: { location: v.pipe(v.string(), v.description("Where.")) } },
    },
    tags,
  }, async function addStep(request) {
    request.replyHeaders.set("location", "/streams/declared/lines");
    return { n: 1, done: true };
  });
  router.get("/moved", { response: v.void(), status: 303, tags }, async function getMoved() {
    return redirect("/streams/text");
  });
  router.get("/nothing", { response: v.void(), tags }, async () => {});
  router.get("/unmodelled", { tags }, async function getUnmodelled() {
    return { a: 1 };
  });
  return router;
}
