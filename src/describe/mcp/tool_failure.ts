/** Tells an agent why a call failed. */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Issue, ProblemDetails } from "../../errors.ts";

/** What an agent is told of one failure, in bytes. */
export const MAX_FAILURE: number = 1024 * 1024;

/** The result of a call that failed. Its text is cut where it is too long. */
export function failed(text: string): CallToolResult {
  return { content: [{ type: "text", text: cut(text) }], isError: true };
}

function cut(text: string): string {
  // A character has three bytes at most.
  if (text.length * 3 <= MAX_FAILURE) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(MAX_FAILURE));
  return text.slice(0, read);
}

/**
 * A problem in words: what it is, then each fault of the arguments, then what else the application tells of it.
 *
 * @param problem The body of an error reply.
 */
export function problemText({ type: _, title, status, detail, instance: __, errors, ...rest }: ProblemDetails): string {
  const lines = [detail === title ? `${status} ${title}` : `${status} ${title}: ${detail}`];
  if (isIssues(errors)) { for (const issue of errors) lines.push(issueText(issue)); }
  else if (errors !== undefined) rest.errors = errors;
  for (const [name, value] of Object.entries(rest)) lines.push(`${name}: ${JSON.stringify(value)}`);
  return lines.join("\n");
}

/** A fault by the name of the argument that has it. */
function issueText({ in: source, path, message }: Issue): string {
  const place = source === "body" || source === "form" ? [source, ...path] : path;
  return `- ${place.join(".")}: ${message}`;
}

function isIssues(errors: unknown): errors is Issue[] {
  return Array.isArray(errors) &&
    errors.every((error) => Array.isArray(error?.path) && typeof error.message === "string");
}
