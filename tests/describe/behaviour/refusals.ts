// Holds refusals of invalid input against what the one fault of the input is.

import type { Issue } from "../../../src/errors.ts";
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
 * What is wrong with a refusal of one fault, beside which there may be others that no document
 * tells of.
 */
export function faultsOfRefusal(issues: readonly Issue[], fault: Fault, others: readonly Issue[]): string[] {
  const at = `${fault.in} ${fault.path.join(".")}`;
  if (!issues.some((issue) => isAt(issue, fault))) return [`the refusal does not tell of ${at}`];
  const stray = issues.find((issue) => !isAt(issue, fault) && !others.includes(issue));
  return stray ? [`the refusal tells of ${stray.in} ${stray.path.join(".")}, where ${at} alone is wrong`] : [];
}

/** Whether an issue is about the place of the fault, about what holds it, or about a part of it. */
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
 * Whether a reply repeats what was sent. Short texts may stand in it by chance, and the document's
 * own in any case.
 */
export function repeats({ text }: Received, values: readonly unknown[], document: string): boolean {
  if (text.includes(SECRET)) return true;
  return values.some((value) => {
    const sent = typeof value === "string" ? value.trim() : "";
    return sent.length > 6 && text.includes(sent) && !document.includes(sent);
  });
}
