// What is expected of a reply, by what the document says of the request.

import type { Issue } from "../../../src/errors.ts";
import type { Operation } from "./operations.ts";
import { type Fault, faultsOfRefusal, issuesOf } from "./refusals.ts";
import { isUnmodelled, type Received } from "./replies.ts";
import type { Subject } from "./subject.ts";

/** What the document says of a request. */
export type Expectation =
  | { readonly verdict: "valid" }
  | { readonly verdict: "open" }
  | {
    readonly verdict: "invalid";
    /** The status of the refusal. */
    readonly status: number;
    /** The one place that is wrong, where the refusal is to tell it. */
    readonly fault?: Fault;
  };

/** The statuses that tell of invalid input. */
const REFUSALS: readonly number[] = [400, 413, 415, 422];

/** What is not as expected. */
export function faultsOf(
  received: Received,
  expectation: Expectation,
  operation: Operation,
  { choosy = {}, failing = [] }: Subject,
): string[] {
  const { status } = received;
  const issues = issuesOf(received);
  const reasoned = issues.filter((issue) => isChoice(issue, choosy[operation.name] ?? {}));
  if (expectation.verdict === "invalid") {
    if (isOfGuard(status, operation)) return [];
    if (status !== expectation.status) return [`invalid input got ${status} instead of ${expectation.status}`];
    return expectation.fault ? faultsOfRefusal(issues, expectation.fault, reasoned) : [];
  }
  if (failing.includes(operation.name)) return [];
  if (status >= 500) return [`it failed with ${status}`];
  if (expectation.verdict === "open") return [];
  if (REFUSALS.includes(status)) {
    return issues.length > 0 && issues.length === reasoned.length ? [] : [`valid input got ${status}`];
  }
  // A range says that something may happen, not that it is to be expected.
  return status in operation.replies || isUnmodelled(operation)
    ? []
    : [`valid input got ${status}, which is not documented by itself`];
}

/** The statuses by which guards refuse: nobody, not that one, and not where there is nothing. */
const GUARDED: readonly number[] = [401, 403, 404];

/**
 * Whether a guard refused the request before its input was looked at, as the document says that it
 * may.
 */
function isOfGuard(status: number, { security, replies }: Operation): boolean {
  return security.length > 0 && GUARDED.includes(status) && status in replies;
}

/** Whether an issue is one that no document can tell of. */
function isChoice({ in: source, path }: Issue, places: Readonly<Record<string, string>>): boolean {
  const way = [source, ...path].map(String);
  return Object.keys(places).map((place) => place.split(".")).some((place) =>
    place.length === way.length && place.every((key, index) => key === "*" || key === way[index])
  );
}
