// The suites for stores, over the real denokv.

import { testScheduled } from "../contract/scheduled.ts";
import { testStore } from "../contract/store_suites.ts";
import { DATABASE } from "./database_store.ts";
import { hasDenokv } from "./denokv.ts";

if (hasDenokv) {
  testStore(DATABASE);
  testScheduled(DATABASE);
} else Deno.test.ignore('Topics over a denokv: there is none, run "deno task denokv:install"', () => {});
