// Crons over the real denokv.

import { testCron } from "../contract/cron.ts";
import { DATABASE } from "./database_store.ts";
import { hasDenokv } from "./denokv.ts";

if (hasDenokv) testCron(DATABASE);
else Deno.test.ignore('Crons over a denokv: there is none, run "deno task denokv:install"', () => {});
