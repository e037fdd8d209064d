// The official conformance suites, with all their scenarios. The checks that a server of tools
// cannot pass are named here.

import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { Serving } from "../spec/support/serving.ts";
import { conformanceApp } from "./conformance_app.ts";
import { CONFORMANCE, hasPrograms, inFolder, run } from "./programs.ts";
import { UNMET } from "./unmet_checks.ts";

const ignore = !await hasPrograms();

/** One run of a suite. */
interface Suite {
  readonly program: string;
  readonly revision: string;
  /** The number of checks that pass, to notice a suite that runs none. */
  readonly passed: number;
}

const SUITES: readonly Suite[] = [
  { program: CONFORMANCE.first, revision: "2025-11-25", passed: 13 },
  { program: CONFORMANCE.second, revision: "2025-06-18", passed: 34 },
  { program: CONFORMANCE.second, revision: "2025-11-25", passed: 43 },
  { program: CONFORMANCE.second, revision: "2026-07-28", passed: 97 },
];

for (const { program, revision, passed } of SUITES) {
  const suite = program.slice(program.lastIndexOf("@") + 1);
  Deno.test(
    `Every check that routes can pass passes: revision ${revision}, suite ${suite}`,
    { ignore },
    () =>
      inFolder(async (folder) => {
        using _log = new CapturedLog();
        await using serving = await Serving.start(conformanceApp());
        const url = `${serving.origin}/mcp`;
        const args = ["server", "--url", url, "--suite", "all", "--spec-version", revision, "-o", "results"];
        const { stderr } = await run(program, args, folder);
        const checks = await readChecks(join(folder, "results"));
        const failed = checks.filter(({ status }) => status !== "SUCCESS" && status !== "INFO").map(({ name }) => name);
        const known = new Set(UNMET.flatMap(({ checks }) => checks));
        const ran = new Set(checks.map(({ name }) => name));
        assertEquals(new Set(failed), known.intersection(ran), stderr);
        assertEquals(checks.filter(({ status }) => status === "SUCCESS").length, passed);
      }),
  );
}

interface Check {
  /** The scenario and the check. */
  readonly name: string;
  readonly status: string;
}

async function readChecks(folder: string): Promise<Check[]> {
  const checks: Check[] = [];
  for await (const { name } of Deno.readDir(folder)) {
    const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT/.exec(name)?.[1];
    assert(scenario !== undefined, name);
    const found: { id: string; status: string }[] = JSON.parse(
      await Deno.readTextFile(join(folder, name, "checks.json")),
    );
    checks.push(...found.map(({ id, status }) => ({ name: `${scenario} ${id}`, status })));
  }
  return checks;
}
