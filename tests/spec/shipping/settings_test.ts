// settings(): environment variables by the binder's text rules.

import { settings } from "@webfw/core";
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import * as v from "valibot";
import { assertType, type IsExact } from "../../types/assert_type.ts";
import { ChildProgram, CORE } from "../support/child_program.ts";

const Port = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(65_535));
const Settings = v.object({ PORT: v.optional(Port, 8000), DATABASE: v.string() });

function messageOf(read: () => unknown): string {
  return assertThrows(read, Error).message;
}

Deno.test("settings: environment variables by the binder's text rules, typed", () => {
  const read = settings(Settings, { env: { DATABASE: "db", OTHER: "1" } });
  assertType<IsExact<typeof read, { PORT: number; DATABASE: string }>>(true);
  assertEquals(read, { PORT: 8000, DATABASE: "db" });
  const All = v.object({
    RATIO: v.number(),
    BIG: v.bigint(),
    ON: v.boolean(),
    OFF: v.boolean(),
    LEVEL: v.picklist([1, 2, "off"]),
    HOSTS: v.array(v.string()),
    PORTS: v.array(Port),
    NONE: v.optional(v.array(v.string()), ["a"]),
    EMPTY: v.array(v.string()),
    NOTHING: v.nullable(v.number()),
    SINCE: v.pipe(v.string(), v.isoTimestamp(), v.toDate()),
  });
  const env = {
    RATIO: "0.5",
    BIG: "12345678901234567890",
    ON: "1",
    OFF: "false",
    LEVEL: "2",
    HOSTS: "a.example, b.example,",
    PORTS: "80,443",
    EMPTY: "",
    NOTHING: "null",
    SINCE: "2026-01-01T00:00:00Z",
  };
  assertEquals(settings(All, { env }), {
    RATIO: 0.5,
    BIG: 12345678901234567890n,
    ON: true,
    OFF: false,
    LEVEL: 2,
    HOSTS: ["a.example", "b.example"],
    PORTS: [80, 443],
    NONE: ["a"],
    EMPTY: [],
    NOTHING: null,
    SINCE: new Date("2026-01-01T00:00:00Z"),
  });
  for (const text of ["0x10", " 1", "1e999", "Infinity", ""]) {
    assertThrows(() => settings(v.object({ RATIO: v.number() }), { env: { RATIO: text } }));
  }
  for (const text of ["TRUE", "yes", ""]) {
    assertThrows(() => settings(v.object({ ON: v.boolean() }), { env: { ON: text } }));
  }
});

Deno.test("settings: every fault in one error, no values in it", () => {
  const Strict = v.object({
    PORT: Port,
    DATABASE: v.pipe(v.string(), v.startsWith("postgres:")),
    TOKEN: v.pipe(
      v.string((issue) => `${issue.input}`),
      v.check((text) => text === "", (issue) => `not ${issue.input}`),
    ),
    KEY: v.pipe(v.string(), v.check(() => false, "32 characters of base64")),
    MISSING: v.pipe(v.string(), v.url()),
    ON: v.optional(v.boolean()),
    LIST: v.array(v.number()),
    "constructor": v.string(),
  });
  const env = {
    PORT: "70000",
    DATABASE: "s3cret-1",
    TOKEN: "s3cret-2",
    KEY: "s3cret-3",
    ON: "s3cret-4",
    LIST: "1,s3cret-5",
  };
  assertEquals(
    messageOf(() => settings(Strict, { env })),
    "Cannot read the settings: PORT should be <=65535; " +
      'DATABASE should be of start "postgres:"; TOKEN should be valid; KEY: 32 characters of base64; ' +
      "MISSING is not set, expected: string, url; ON should be boolean; LIST should be number; " +
      "constructor is not set, expected: string",
  );
  const Both = v.pipe(
    v.object({ CERT: v.optional(v.string()), KEY: v.optional(v.string()) }),
    v.check(({ CERT, KEY }) => (CERT === undefined) === (KEY === undefined), "CERT and KEY belong together"),
  );
  assertEquals(
    messageOf(() => settings(Both, { env: { CERT: "s3cret" } })),
    "Cannot read the settings: the settings: CERT and KEY belong together",
  );
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`V${index}`, v.string()]));
  assertMatch(messageOf(() => settings(v.object(many), { env: {} })), /V0 is not set.*V99 is not set/);
  const large = messageOf(() => settings(v.object(many), { env: { V0: "x".repeat(200_000) } }));
  assertMatch(large, /V1 is not set.*V99 is not set/);
  assert(large.length < 10_000);
});

Deno.test("every fault in one error, no values in it, also where functions of the schema throw", () => {
  const Throwing = v.object({
    DATABASE: v.pipe(v.string(), v.transform((text) => new URL(text))),
    FLAGS: v.optional(v.pipe(v.string(), v.transform((text) => JSON.parse(text) as unknown)), "{}"),
    COUNT: v.number(),
    MISSING: v.string(),
  });
  const message = messageOf(() => settings(Throwing, { env: { DATABASE: "hunter2", FLAGS: "hunter2", COUNT: "x" } }));
  assertEquals(
    message,
    "Cannot read the settings: DATABASE cannot be converted, because a function of the schema throws; FLAGS cannot be " +
      "converted, because a function of the schema throws; COUNT should be number; MISSING is not set, expected: string",
  );
  const Whole = v.pipe(v.object({ URL: v.string() }), v.transform(({ URL: text }) => new URL(text)));
  assertEquals(
    messageOf(() => settings(Whole, { env: { URL: "hunter2" } })),
    "Cannot read the settings: the settings cannot be converted, because a function of the schema throws",
  );
});

Deno.test("An empty variable counts as not set if it is optional and its schema refuses an empty text", () => {
  const Empty = v.object({
    PORT: v.optional(Port, 8000),
    URL: v.optional(v.pipe(v.string(), v.url())),
    NAME: v.optional(v.string(), "x"),
    MODE: v.fallback(v.picklist(["a", "b"]), "b"),
  });
  assertEquals(settings(Empty, { env: { PORT: "", URL: "", NAME: "", MODE: "" } }), {
    PORT: 8000,
    NAME: "",
    MODE: "b",
  });
});

Deno.test("A mistake of the programmer throws where it is made", () => {
  const misread = (schema: unknown, options?: object) =>
    messageOf(() => settings(schema as typeof Settings, options as { env: Record<string, string> }));
  assertMatch(
    misread({ PORT: v.number() }),
    /^Cannot read the settings: the argument must be one valibot schema, write v\.object/,
  );
  assertMatch(misread(v.string()), /the schema is of kind "string", write v\.object/);
  assertMatch(misread(v.objectAsync({})), /the schema is async/);
  assertMatch(misread(v.object({ DB: v.object({}) })), /^Cannot bind the variable "DB": /);
  assertMatch(misread(v.object({ AT: v.date() })), /^Cannot bind the variable "AT": a string cannot be read as a date/);
  assertMatch(misread(v.object({ "A=B": v.string() })), /no environment variable can have the name "A=B"/);
  assertMatch(misread(v.object({ A: v.number() }), { env: { A: 1 } }), /"env" must contain strings, got number for A/);
  assertMatch(misread(v.object({}), { environment: {} }), /the option "environment" is unknown, the nearest is "env"/);
});

Deno.test("A variable that may not be read counts as not set, without a prompt", async () => {
  const source = `import { settings } from "${CORE}"; import * as v from "valibot";
const optional = settings(v.object({ PORT: v.optional(v.number(), 8000), ALLOWED: v.number() }));
console.log(JSON.stringify(optional));
settings(v.object({ DATABASE: v.string(), ALLOWED: v.string(), KEY: v.string(), LOG: v.optional(v.string()) }));`;
  const env = { PORT: "1", ALLOWED: "2", DATABASE: "s3cret", LOG: "full" };
  await using child = await ChildProgram.start(source, { env, permissions: ["--allow-env=ALLOWED"] });
  const { code, stdout, stderr } = await child.end();
  assertEquals([code, stdout], [1, '{"PORT":8000,"ALLOWED":2}\n']);
  assertMatch(
    stderr,
    // Also those that need no value: without the permission, their values would be ignored.
    /CannotStartError: Cannot read the settings: DATABASE may not be read; KEY may not be read; allow all by --allow-env=DATABASE,ALLOWED,KEY,LOG\n/,
  );
});

Deno.test("Without options, the variables are those of the process", async () => {
  const source = `import { settings } from "${CORE}"; import * as v from "valibot";
console.log(JSON.stringify(settings(v.object({ PORT: v.number(), DATABASE: v.string() }))));`;
  await using child = await ChildProgram.start(source, { env: { PORT: "80", DATABASE: "db" } });
  assertEquals((await child.end()).stdout, '{"PORT":80,"DATABASE":"db"}\n');
});
