// Types for the assertions of npm's deno-std. Declared as std documents them,
// because a stand-in that allows more would pass here and fail with JSR.

import * as std from "deno-std/assert/mod.js";

// deno-lint-ignore no-explicit-any -- a class is any constructor, as in the language itself
type Class<T> = abstract new (...args: any[]) => T;

// deno-lint-ignore no-explicit-any -- an interface has no index signature, so a record of unknown would refuse it
type AnyRecord = Record<PropertyKey, any>;

type Compare = <T>(actual: T, expected: T, msg?: string) => void;

type CompareText<T> = (actual: string, expected: T, msg?: string) => void;

interface Throws {
  (fn: () => unknown, msg?: string): unknown;
  <E extends Error>(
    fn: () => unknown,
    type: Class<E>,
    includes?: string,
    msg?: string,
  ): E;
}

interface Rejects {
  (fn: () => PromiseLike<unknown>, msg?: string): Promise<unknown>;
  <E extends Error>(
    fn: () => PromiseLike<unknown>,
    type: Class<E>,
    includes?: string,
    msg?: string,
  ): Promise<E>;
}

export const AssertionError: new (
  message: string,
  options?: ErrorOptions,
) => Error = std.AssertionError;
export const assert: (expr: unknown, msg?: string) => asserts expr = std.assert;
export const assertAlmostEquals: (
  actual: number,
  expected: number,
  tolerance?: number,
  msg?: string,
) => void = std.assertAlmostEquals;
export const assertArrayIncludes: <T>(
  actual: ArrayLike<T> & object,
  expected: ArrayLike<T> & object,
  msg?: string,
) => void = std.assertArrayIncludes;
export const assertEquals: Compare = std.assertEquals;
export const assertExists: <T>(
  actual: T,
  msg?: string,
) => asserts actual is NonNullable<T> = std.assertExists;
export const assertFalse: (
  expr: unknown,
  msg?: string,
) => asserts expr is false | 0 | 0n | "" | null | undefined = std.assertFalse;
export const assertGreater: Compare = std.assertGreater;
export const assertGreaterOrEqual: Compare = std.assertGreaterOrEqual;
export const assertInstanceOf: <T>(
  actual: unknown,
  type: Class<T>,
  msg?: string,
) => asserts actual is T = std.assertInstanceOf;
export const assertIsError: <E extends Error = Error>(
  error: unknown,
  type?: Class<E>,
  matches?: string | RegExp,
  msg?: string,
) => asserts error is E = std.assertIsError;
export const assertLess: Compare = std.assertLess;
export const assertLessOrEqual: Compare = std.assertLessOrEqual;
export const assertMatch: CompareText<RegExp> = std.assertMatch;
export const assertNotEquals: Compare = std.assertNotEquals;
export const assertNotMatch: CompareText<RegExp> = std.assertNotMatch;
export const assertNotStrictEquals: Compare = std.assertNotStrictEquals;
export const assertObjectMatch: (
  actual: AnyRecord,
  expected: Record<PropertyKey, unknown>,
  msg?: string,
) => void = std.assertObjectMatch;
export const assertRejects: Rejects = std.assertRejects;
export const assertStrictEquals: <T>(
  actual: unknown,
  expected: T,
  msg?: string,
) => asserts actual is T = std.assertStrictEquals;
export const assertStringIncludes: CompareText<string> = std.assertStringIncludes;
export const assertThrows: Throws = std.assertThrows;
export const equal: (a: unknown, b: unknown) => boolean = std.equal;
export const fail: (msg?: string) => never = std.fail;
export const unreachable: (reason?: string) => never = std.unreachable;
