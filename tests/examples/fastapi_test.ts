// The page for users of FastAPI has a row for each of its tutorials, with a program that runs.

import { assertEquals } from "@std/assert";

const FOLDER = new URL("fastapi/", import.meta.url);
const PAGE = new URL("../../docs/coming_from_fastapi.md", import.meta.url);

const programs = await Array.fromAsync(Deno.readDir(FOLDER), ({ name }) => name);
for (const name of programs) await import(new URL(name, FOLDER).href);

Deno.test("each program has a row on the page, and each row a program", async () => {
  const page = await Deno.readTextFile(PAGE);
  const rows = page.matchAll(/^\| \[(\w+)\]\(\.\.\/tests\/examples\/fastapi\/(\w+)\.ts\)/gm);
  const names = Array.from(rows, ([, tutorial, program]) => {
    assertEquals(program, tutorial);
    return `${program}.ts`;
  });
  assertEquals(names.toSorted(), programs.toSorted());
  assertEquals(names.length, 77);
});
