// deno-lint-ignore-file no-explicit-any -- the statements are about any, too
// The statements about types that the other tests make can be wrong.

import { assertType, type IsExact } from "./assert_type.ts";

Deno.test("A type that is not exactly the expected one does not compile", () => {
  assertType<IsExact<string, string>>(true);
  assertType<IsExact<{ readonly a: 1 | 2 }, { readonly a: 2 | 1 }>>(true);
  assertType<IsExact<any, any>>(true);

  // @ts-expect-error -- another type
  assertType<IsExact<string, number>>(true);
  // @ts-expect-error -- a literal
  assertType<IsExact<1, number>>(true);
  // @ts-expect-error -- any
  assertType<IsExact<any, string>>(true);
  // @ts-expect-error -- any and unknown
  assertType<IsExact<any, unknown>>(true);
  // @ts-expect-error -- never
  assertType<IsExact<never, string>>(true);
  // @ts-expect-error -- readonly
  assertType<IsExact<{ readonly a: 1 }, { a: 1 }>>(true);
  // @ts-expect-error -- an optional property
  assertType<IsExact<{ a?: 1 }, { a: 1 | undefined }>>(true);
  // @ts-expect-error -- a property more
  assertType<IsExact<{ a: 1; b: 2 }, { a: 1 }>>(true);
  // @ts-expect-error -- an intersection
  assertType<IsExact<{ a: 1 } & { b: 2 }, { a: 1; b: 2 }>>(true);
  // @ts-expect-error -- a list that is not readonly
  assertType<IsExact<string[], readonly string[]>>(true);
});
