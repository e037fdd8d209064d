// Types for the assertions of npm's deno-std that the tests use.

import * as std from "deno-std/assert/mod.js";

// deno-lint-ignore no-explicit-any -- a class is any constructor, as in the language itself
type Class<T = Error> = abstract new (...args: any[]) => T;
type Pattern = Record<PropertyKey, unknown>;

/** The check of two values, of their content or their identity. */
type Compare = <T>(actual: T, expected: T, msg?: string) => void;

interface Throws {
  (fn: () => unknown, msg?: string): unknown;
  <E extends Error>(fn: () => unknown, type: Class<E>, includes?: string, msg?: string): E;
}

interface Rejects {
  (fn: () => PromiseLike<unknown>, msg?: string): Promise<unknown>;
  <E extends Error>(fn: () => PromiseLike<unknown>, type: Class<E>, includes?: string, msg?: string): Promise<E>;
}

export const AssertionError: new (message: string, options?: ErrorOptions) => Error = std.AssertionError;
export const assert: (expr: unknown, msg?: string) => asserts expr = std.assert;
export const assertEquals: Compare = std.assertEquals;
export const assertExists: <T>(actual: T, msg?: string) => asserts actual is NonNullable<T> = std.assertExists;
export const assertFalse: (expr: unknown, msg?: string) => asserts expr is false = std.assertFalse;
export const assertGreater: Compare = std.assertGreater;
export const assertGreaterOrEqual: Compare = std.assertGreaterOrEqual;
export const assertInstanceOf: <T>(actual: unknown, type: Class<T>, msg?: string) => asserts actual is T =
  std.assertInstanceOf;
export const assertLess: Compare = std.assertLess;
export const assertLessOrEqual: Compare = std.assertLessOrEqual;
export const assertMatch: (actual: string, expected: RegExp, msg?: string) => void = std.assertMatch;
export const assertNotEquals: Compare = std.assertNotEquals;
export const assertNotMatch: (actual: string, expected: RegExp, msg?: string) => void = std.assertNotMatch;
export const assertNotStrictEquals: Compare = std.assertNotStrictEquals;
export const assertObjectMatch: (actual: Pattern, expected: Pattern, msg?: string) => void = std.assertObjectMatch;
export const assertRejects: Rejects = std.assertRejects;
export const assertStrictEquals: <T>(actual: unknown, expected: T, msg?: string) => asserts actual is T =
  std.assertStrictEquals;
export const assertStringIncludes: (actual: string, expected: string, msg?: string) => void = std.assertStringIncludes;
export const assertThrows: Throws = std.assertThrows;
export const equal: (a: unknown, b: unknown) => boolean = std.equal;
export const fail: (msg?: string) => never = std.fail;
export const unreachable: (reason?: string) => never = std.unreachable;
