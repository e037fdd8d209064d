// Clients are generated from the documents, compiled, and used.

import { assertEquals } from "@std/assert";
import { Serving } from "../spec/support/serving.ts";
import { check, checkAndRun, consume, hasConsumers } from "./consumers.ts";
import { Documents } from "./documents.ts";

const ignore = !await hasConsumers();

Deno.test(
  "Clients of openapi-typescript compile and make the round trip, those of hey-api compile",
  { ignore },
  async () => {
    await using documents = await Documents.write();
    await consume("generate.ts", ["bookshop", "hostile"], documents.folder);
    await check(["bookshop/hey_api/index.ts", "hostile/hey_api/index.ts"], documents.folder);
    await using bookshop = await Serving.start(documents.bookshop);
    await using hostile = await Serving.start(documents.hostile);
    const printed = await checkAndRun("round_trip.ts", [bookshop.origin, hostile.origin], documents.folder);
    assertEquals(printed, "Done\n");
  },
);

Deno.test(
  "Clients of hey-api and openapi-typescript know what streams hold, texts and headers",
  { ignore },
  async () => {
    await using documents = await Documents.write();
    await consume("generate.ts", ["museum"], documents.folder);
    await using museum = await Serving.start(documents.museum);
    assertEquals(await checkAndRun("streams.ts", [museum.origin], documents.folder), "Done\n");
  },
);
