// The models of the generated applications that validate by valibot.

import { modelOf, repeat } from "./generated_app.ts";

/** The schemas and the store that all routes share, and two models for every five routes. */
export function valibotModels(routes: number): string {
  return `
const Id = v.pipe(v.number(), v.integer(), v.minValue(1));
const Limit = v.optional(v.pipe(v.number(), v.integer(), v.maxValue(100)), 20);
const Sort = v.optional(v.picklist(["asc", "desc"]), "asc");
interface Store {
  save<Item>(id: number, item: Item): Promise<Item & { id: number }>;
}
declare const store: Store;
${
    repeat(routes === 0 ? 0 : modelOf(routes - 1) + 1, (model) => `
const Input${model} = v.object({
  title: v.pipe(v.string(), v.minLength(1), v.maxLength(100)),
  price: v.pipe(v.number(), v.minValue(0)),
  tags: v.array(v.string()),
  maker${model}: v.object({ name: v.string(), country: v.optional(v.string()) }),
});
const Output${model} = v.object({
  id: Id,
  title: v.string(),
  price: v.number(),
  tags: v.array(v.string()),
  maker${model}: v.object({ name: v.string(), country: v.optional(v.string()) }),
});`)
  }`;
}
