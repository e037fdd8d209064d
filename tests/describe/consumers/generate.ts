// Generates clients: `generate.ts <folder>…` makes one in each folder, from its `document.json`.

import { createClient } from "@hey-api/openapi-ts";
import openapiTS, { astToString } from "openapi-typescript";

for (const folder of Deno.args) {
  const document = JSON.parse(await Deno.readTextFile(`${folder}/document.json`));
  // A sender may leave out a key that has a default. Without this option, the generated type
  // requires it.
  const types = astToString(await openapiTS(document, { defaultNonNullable: false }));
  await Deno.writeTextFile(`${folder}/openapi_typescript.ts`, types);
  await createClient({
    input: document,
    output: { path: `${folder}/hey_api`, module: { extension: ".ts" } },
    plugins: ["@hey-api/client-fetch"],
    logs: { level: "silent" },
  });
}
