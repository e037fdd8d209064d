import { testCron } from "../../../contract/cron.ts";
import { testScheduled } from "../../../contract/scheduled.ts";
import { SQLITE } from "../../../contract/sql/sqlite_store.ts";
import { testStore } from "../../../contract/store_suites.ts";

testStore(SQLITE);
testCron(SQLITE);
testScheduled(SQLITE);
