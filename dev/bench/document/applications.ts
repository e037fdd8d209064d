// The applications of the measurement: the same routes, with models of different kinds.

import * as v from "valibot";
import { App, dependency } from "../../../mod.ts";

/** An application that is measured. */
export interface Application {
  name: string;
  /** Makes an application with this many routes. */
  make(routes: number): App;
}

/** The models of one route. */
interface Models {
  body: v.GenericSchema<unknown, unknown>;
  response: v.GenericSchema<unknown, unknown>;
}

/** How many routes use the same models, where they share some. */
const ROUTES_PER_MODEL = 5;

const Id = v.pipe(v.number(), v.integer(), v.minValue(1));
const Text = v.pipe(v.string(), v.minLength(1), v.maxLength(100));
const page = {
  q: v.optional(v.string()),
  limit: v.optional(v.pipe(v.number(), v.integer(), v.maxValue(100)), 20),
  sort: v.optional(v.picklist(["asc", "desc"]), "asc"),
};
const user = dependency({ headers: { "x-token": v.optional(v.string()) } }, async () => ({ name: "Ada" }));

/** The applications. */
export const APPLICATIONS: Application[] = [
  { name: "small", make: small },
  { name: "own", make: (routes) => large(routes, ownModels) },
  { name: "shared", make: (routes) => large(routes, shared(ownModels)) },
  { name: "recursive", make: (routes) => large(routes, shared(recursiveModels)) },
];

/** Routes that say little. */
function small(routes: number): App {
  const app = new App({ title: "Measured" });
  for (let index = 0; index < routes; index++) {
    const response = v.object({ id: Id, title: v.string() });
    app.get(
      `/resources${index}/{id}`,
      { params: { id: Id }, response },
      async (_request, { id }) => ({ id, title: "" }),
    );
  }
  return app;
}

/** Routes like most routes: parameters, a body, a response, a dependency, and descriptions. */
function large(routes: number, modelsOf: (route: number) => Models): App {
  const app = new App({ title: "Measured" });
  for (let index = 0; index < routes; index++) {
    const { body, response } = modelsOf(index);
    const options = { params: { id: Id }, query: page, body, response, tags: [`tag${index % 10}`] };
    app.post(`/resources${index}/{id}`, { ...options, deps: { user } }, async (_request, { body }) => {
      "Stores a resource.\n\nGives it back as it was stored.";
      return body;
    });
  }
  return app;
}

/** Nested models that no other route uses. */
function ownModels(index: number): Models {
  const maker = v.object({ [`name${index}`]: Text, country: v.optional(v.string()) });
  const entries = { title: Text, price: v.pipe(v.number(), v.minValue(0)), tags: v.array(v.string()), maker };
  return {
    body: v.pipe(v.object(entries), v.title(`NewResource${index}`)),
    response: v.pipe(v.object({ id: Id, ...entries }), v.title(`Resource${index}`)),
  };
}

/** Models that contain themselves, directly or through one another. Input and output differ. */
function recursiveModels(index: number): Models {
  const Folder: v.GenericSchema<unknown, unknown> = v.pipe(
    v.object({
      name: Text,
      depth: v.optional(v.number(), index),
      entries: v.array(v.lazy(() => Entry)),
      parent: v.nullable(v.lazy(() => Folder)),
    }),
    v.title(`Folder${index}`),
  );
  const Entry: v.GenericSchema<unknown, unknown> = v.variant("kind", [
    v.pipe(v.object({ kind: v.literal("file"), size: Id }), v.title(`File${index}`)),
    v.pipe(v.object({ kind: v.literal("folder"), folder: v.lazy(() => Folder) }), v.title(`Mount${index}`)),
  ]);
  return { body: Folder, response: v.pipe(v.object({ id: Id, root: Folder }), v.title(`Drive${index}`)) };
}

/** The same models for several routes. */
function shared(modelsOf: (route: number) => Models): (route: number) => Models {
  const known = new Map<number, Models>();
  return (route) => {
    const model = Math.floor(route / ROUTES_PER_MODEL);
    let models = known.get(model);
    if (!models) known.set(model, models = modelsOf(model));
    return models;
  };
}
