// The official clients of both generations find every tool of a hostile application, and call it.

import { assertEquals } from "@std/assert";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { Serving } from "../spec/support/serving.ts";
import { CALLS, type ExpectedCall, hostileApp } from "./hostile_app.ts";
import { hasPrograms, run } from "./programs.ts";

const ignore = !await hasPrograms();

const [FIRST, SECOND] = ["first_generation.ts", "second_generation.ts"];
const CLIENTS = [
  { client: "client of the first generation", program: FIRST, mode: [], version: "2025-11-25" },
  { client: "client of the second generation, as it comes,", program: SECOND, mode: ["legacy"], version: "2025-11-25" },
  {
    client: "client of the second generation, left to choose,",
    program: SECOND,
    mode: ["auto"],
    version: "2026-07-28",
  },
  {
    client: "client of the second generation, held to the newest,",
    program: SECOND,
    mode: ["2026-07-28"],
    version: "2026-07-28",
  },
];

interface Seen {
  readonly version: string;
  readonly tools: readonly { readonly name: string }[];
  readonly results: readonly {
    readonly content?: readonly unknown[];
    readonly structuredContent?: unknown;
    readonly isError?: boolean;
    readonly refused?: string;
  }[];
}

for (const { client, program, mode, version } of CLIENTS) {
  Deno.test(`The official ${client} lists and calls every tool`, { ignore }, async () => {
    using _log = new CapturedLog();
    await using serving = await Serving.start(hostileApp());
    const calls = CALLS.map(({ name, arguments: given = {} }) => ({ name, arguments: given }));
    const { code, stdout, stderr } = await run(program, [`${serving.origin}/mcp`, ...mode, JSON.stringify(calls)]);
    assertEquals({ code, stderr }, { code: 0, stderr: "" });
    const seen: Seen = JSON.parse(stdout.replaceAll(serving.origin, ""));
    assertEquals(seen.version, version);
    assertEquals(new Set(seen.tools.map(({ name }) => name)), new Set(CALLS.map(({ name }) => name)));
    assertEquals(seen.results.map(resultOf), CALLS.map(expected));
  });
}

/** The result that a client got, without what the revisions add. */
function resultOf({ content, structuredContent, isError = false, refused }: Seen["results"][number]) {
  return { content, structuredContent, isError, refused };
}

function expected({ structured, content, failure }: ExpectedCall) {
  const text = failure ?? JSON.stringify(structured);
  return {
    content: content ?? [{ type: "text", text }],
    structuredContent: structured,
    isError: failure !== undefined,
    refused: undefined,
  };
}
