// Generates clients: `generate.ts <folder>…` makes them of the `document.json` in each folder,
// beside it.

import { createClient } from "@hey-api/openapi-ts";
import openapiTS, { astToString } from "openapi-typescript";

for (const folder of Deno.args) {
  const document = JSON.parse(await Deno.readTextFile(`${folder}/document.json`));
  // A key that has a default may be left out by who sends it; the generator would have it unless
  // told.
  const types = astToString(await openapiTS(document, { defaultNonNullable: false }));
  await Deno.writeTextFile(`${folder}/openapi_typescript.ts`, types);
  await createClient({
    input: document,
    output: { path: `${folder}/hey_api`, module: { extension: ".ts" } },
    plugins: ["@hey-api/client-fetch"],
    logs: { level: "silent" },
  });
}
