// Checks refusals of invalid input against the one fault of the input.

import type { Issue } from "../../../src/base/errors.ts";
import { SECRET } from "./changes.ts";
import type { Path } from "./parts.ts";
import type { Received } from "./replies.ts";

/** Where the fault is. */
export interface Fault {
  readonly in: Issue["in"];
  readonly path: Path;
}

/** The shape of a 422, of which the document is asked elsewhere. */
export function issuesOf({ text }: Received): readonly Issue[] {
  try {
    const { errors } = JSON.parse(text) as { errors?: Issue[] };
    return Array.isArray(errors) ? errors : [];
  } catch {
    return [];
  }
}

/**
 * The faults of a refusal. Besides the one fault, it may name others that no document can express.
 */
export function faultsOfRefusal(issues: readonly Issue[], fault: Fault, others: readonly Issue[]): string[] {
  const at = `${fault.in} ${fault.path.join(".")}`;
  if (!issues.some((issue) => isAt(issue, fault))) return [`the refusal does not tell of ${at}`];
  const stray = issues.find((issue) => !isAt(issue, fault) && !others.includes(issue));
  return stray ? [`the refusal tells of ${stray.in} ${stray.path.join(".")}, where ${at} alone is wrong`] : [];
}

/** Whether an issue names the place of the fault, its container, or a part of it. */
function isAt(issue: Issue, fault: Fault): boolean {
  if (issue.in !== fault.in) return false;
  const isAlike = (key: string | number, index: number) => {
    const other = issue.path[index];
    // Names of headers have no case.
    return other === undefined || String(other).toLowerCase() === String(key).toLowerCase();
  };
  return fault.path.every(isAlike);
}

/**
 * Whether a reply repeats the input. Short texts may be in it by chance, and those of the document
 * always.
 */
export function repeats({ text }: Received, values: readonly unknown[], document: string): boolean {
  if (text.includes(SECRET)) return true;
  return values.some((value) => {
    const sent = typeof value === "string" ? value.trim() : "";
    return sent.length > 6 && text.includes(sent) && !document.includes(sent);
  });
}
