// All references in a document have a target.

import { assert, assertEquals } from "@std/assert";
import { resolve } from "./look_up.ts";
import { Documents } from "./documents.ts";
import { hostileApp } from "./hostile_app.ts";

/** The places and targets of references. Keys of `properties` are names, not keywords. */
function* referencesIn(value: unknown, place = ""): Generator<[place: string, target: string]> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, part] of Object.entries(value)) {
    const isName = /\/(?:properties|schemas|patternProperties|\$defs)$/.test(place);
    if (key === "$ref" && !isName) yield [place, part];
    else if (key === "mapping" && place.endsWith("/discriminator")) {
      for (const target of Object.values<string>(part)) yield [place, target];
    } else yield* referencesIn(part, `${place}/${key}`);
  }
}

Deno.test("Every reference and every discriminator's mapping points at something", async () => {
  await using documents = await Documents.write();
  for (const document of [documents.bookshop.openapi(), documents.hostile.openapi()]) {
    const references = [...referencesIn(document)];
    assert(references.length > 20);
    for (const [place, target] of references) {
      assert(target.startsWith("#/components/"), `${place} points at ${target}`);
      resolve(document, { $ref: target });
    }
  }
});

Deno.test("Every component of a document is pointed at", async () => {
  await using documents = await Documents.write();
  for (const document of [documents.bookshop.openapi(), documents.hostile.openapi()]) {
    const targets = new Set([...referencesIn(document)].map(([, target]) => target));
    const { schemas = {}, responses = {} } = document.components;
    const all = [
      ...Object.keys(schemas).map((name) => `#/components/schemas/${name}`),
      ...Object.keys(responses).map((name) => `#/components/responses/${name}`),
    ];
    assertEquals(all.filter((name) => !targets.has(name)), []);
  }
});

Deno.test("The hostile application has at least 40 models, and none replaces another", () => {
  const { schemas = {} } = hostileApp().openapi().components;
  assert(Object.keys(schemas).length >= 40, `${Object.keys(schemas).length} models`);
  const keysOf = (name: string) => Object.keys(schemas[name]?.properties ?? {});
  assertEquals([keysOf("Person"), keysOf("Person2")], [["name", "age", "address"], ["nickname"]]);
  assertEquals([keysOf("Problem"), keysOf("Problem2")[0]], [["mine"], "type"]);
});
