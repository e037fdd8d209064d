// The expected reply, by what the document says about the request.

import type { Issue } from "../../../src/base/errors.ts";
import type { Operation } from "./operations.ts";
import { type Fault, faultsOfRefusal, issuesOf } from "./refusals.ts";
import { isUnmodelled, type Received } from "./replies.ts";
import type { Subject } from "./subject.ts";

/** The document's verdict on a request. */
export type Expectation =
  | { readonly verdict: "valid" }
  | { readonly verdict: "open" }
  | {
    readonly verdict: "invalid";
    /** The status of the refusal. */
    readonly status: number;
    /** The one wrong place, if the refusal must name it. */
    readonly fault?: Fault;
  };

/** The statuses for invalid input. */
const REFUSALS: readonly number[] = [400, 413, 415, 422];

/** Compares a reply with the expectation, and returns the differences. */
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
  // A range of statuses says that a reply is possible, not that it is expected.
  return status in operation.replies || isUnmodelled(operation)
    ? []
    : [`valid input got ${status}, which is not documented by itself`];
}

/** The statuses of refusals by guards: no user, wrong user, no such thing. */
const GUARDED: readonly number[] = [401, 403, 404];

/**
 * Whether a guard refused the request before its input was looked at, as the document says that it
 * may.
 */
function isOfGuard(status: number, { security, replies }: Operation): boolean {
  return security.length > 0 && GUARDED.includes(status) && status in replies;
}

/** Whether no document can express the reason of an issue. */
function isChoice({ in: source, path }: Issue, places: Readonly<Record<string, string>>): boolean {
  const way = [source, ...path].map(String);
  return Object.keys(places).map((place) => place.split(".")).some((place) =>
    place.length === way.length && place.every((key, index) => key === "*" || key === way[index])
  );
}
