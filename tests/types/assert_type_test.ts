// The statements about types that the other tests make can be wrong.

import { assertEquals } from "@std/assert";
import { typeCheck } from "./type_check.ts";

const HELPER = JSON.stringify(new URL("./assert_type.ts", import.meta.url).href);

function statement(actual: string, expected: string): string {
  return `import { assertType, type IsExact } from ${HELPER};\nassertType<IsExact<${actual}, ${expected}>>(true);`;
}

Deno.test("A type that is not exactly the expected one does not compile", async () => {
  const same = [["string", "string"], ["{ readonly a: 1 | 2 }", "{ readonly a: 2 | 1 }"], ["any", "any"]] as const;
  const others = [
    ["string", "number"],
    ["1", "number"],
    ["any", "string"],
    ["any", "unknown"],
    ["never", "string"],
    ["{ readonly a: 1 }", "{ a: 1 }"],
    ["{ a?: 1 }", "{ a: 1 | undefined }"],
    ["{ a: 1; b: 2 }", "{ a: 1 }"],
    ["{ a: 1 } & { b: 2 }", "{ a: 1; b: 2 }"],
    ["string[]", "readonly string[]"],
  ] as const;
  const faults = await typeCheck([...same, ...others].map(([actual, expected]) => statement(actual, expected)));
  assertEquals(
    faults.map((found) => found.map(({ code, at }) => `${code} at ${at}`)),
    [...same.map(() => []), ...others.map(() => ["TS2345 at true"])],
  );
});
