// The mistakes that users can make, and the compiler's messages.
//
// After a change of the types, `deno task deno test -A tests/compiler -- --update` writes the new
// messages into the tables. Read the difference as a user would.

import { assert, assertEquals } from "@std/assert";
import { type Mistake, readTables, writeTable } from "./mistake_table.ts";
import { type Fault, typeCheck } from "./type_check.ts";

/**
 * The compiler whose messages the tables contain. Another version must find the same faults, in its
 * own words.
 */
const TYPESCRIPT = "6.0.";

const DECLARATIONS = `
import {
  anySecurity, App, Bytes, dependency, Events, file, Form, Html, HTTPError, JsonLines, type Middleware,
  Replies, reply, Router, settings, SSE, stateType, Text, text, ValidationError,
} from "@webfw/core";
import { apiKey, basic, bearer, equal, jwt, optional, session } from "@webfw/core/auth";
import { client as connect } from "@webfw/core/client";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import {
  app, Author, Book, client, countBooks, int, issuer, member, Orders, secret, shop, standard, type State,
} from ${JSON.stringify(new URL("./mistakes/declarations.ts", import.meta.url).href)};
import type * as api from ${JSON.stringify(new URL("./mistakes/api.ts", import.meta.url).href)};
`;

Deno.test("Each mistake is one compiler error at its place", async (test) => {
  const tables = await readTables();
  const mistakes = tables.flatMap((table) => table.mistakes);
  assert(mistakes.length >= 40, `There are only ${mistakes.length} mistakes`);
  const [without, ...found] = await typeCheck([DECLARATIONS, ...mistakes.map(({ code }) => DECLARATIONS + code)]);
  assertEquals(without, [], "The declarations themselves are at fault");
  const faults = new Map(mistakes.map((mistake, index) => [mistake, found[index]!]));

  if (Deno.args.includes("--update")) {
    for (const mistake of mistakes) mistake.fault = faults.get(mistake)![0];
    await Promise.all(tables.map(writeTable));
  }
  for (const { name, mistakes } of tables) {
    await test.step(name, () => {
      const others = mistakes.filter((mistake) => !isAsPinned(mistake, faults.get(mistake)!));
      assertEquals(others.map((mistake) => ({ ...mistake, found: faults.get(mistake) })), []);
    });
  }
});

function isAsPinned({ fault }: Mistake, [first, ...others]: Fault[]): boolean {
  if (!fault || !first || others.length > 0 || first.at !== fault.at) return false;
  if (!Deno.version.typescript.startsWith(TYPESCRIPT)) return true;
  return first.code === fault.code && inOneOrder(first.message) === inOneOrder(fault.message);
}

const MEMBER = String.raw`(?:"[^"]*"|\w+(?:<\w+(?:<\w+>)?>)?)`;
const UNION = new RegExp(String.raw`${MEMBER}(?: \| ${MEMBER})+`, "g");

/** Sorts the members of unions: the compiler names them in the order in which it met them anywhere. */
function inOneOrder(message: string): string {
  return message.replaceAll(UNION, (union) => union.split(" | ").sort().join(" | "));
}
