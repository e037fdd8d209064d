/** Tells an agent why a call failed. */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Issue, ProblemDetails } from "../../errors.ts";

/** The result of a call that failed. */
export function failed(text: string): CallToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

/**
 * A problem in words: what it is, then each fault of the arguments, then what else the application tells of it.
 *
 * @param problem The body of an error reply.
 */
export function problemText({ type: _, title, status, detail, instance: __, errors, ...rest }: ProblemDetails): string {
  const lines = [detail === title ? `${status} ${title}` : `${status} ${title}: ${detail}`];
  if (isIssues(errors)) lines.push(...errors.map(issueText));
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
