// The grammar of error messages: a capital first letter, no final period, no
// contractions.

import { repositoryPath } from "./layers.ts";

const CONTRACTION = /\b\w+n't\b|\b(?:he|here|it|let|she|that|there|what|who)'s\b|\b\w+'(?:d|ll|m|re|ve)\b/i;

/** The literal parts of a string. */
interface Text {
  parts: string[];
  /** Whether the first part begins it. */
  begins: boolean;
  /** Whether the last part ends it. */
  ends: boolean;
}

/** Checks the message in `new SomeError("…")`. */
export const errorMessage: Deno.lint.Rule = {
  create(context) {
    if (repositoryPath(context.filename).startsWith("tests/")) return {};
    return {
      NewExpression(node) {
        if (!className(node.callee)?.endsWith("Error")) return;
        for (const argument of node.arguments) {
          const text = textOf(argument);
          // A text without a space is a code, such as "conflict".
          if (!text?.parts.some((part) => part.includes(" "))) continue;
          for (const message of faults(text)) {
            context.report({ node: argument, message });
          }
        }
      },
    };
  },
};

function faults({ parts, begins, ends }: Text): string[] {
  const found: string[] = [];
  if (begins && !/^\p{Lu}/u.test(parts[0] ?? "")) {
    found.push("An error message begins with a capital letter");
  }
  if (ends && parts.at(-1)?.trimEnd().endsWith(".")) {
    found.push("An error message does not end with a period");
  }
  const contraction = parts.map((part) => CONTRACTION.exec(part)?.[0])
    .find((match) => match !== undefined);
  if (contraction !== undefined) {
    found.push(`An error message has no contractions: "${contraction}"`);
  }
  return found;
}

function className(node: Deno.lint.Expression): string | null {
  if (node.type === "Identifier") return node.name;
  if (node.type !== "MemberExpression") return null;
  return node.property.type === "Identifier" ? node.property.name : null;
}

function textOf(node: Deno.lint.Node): Text | null {
  if (node.type === "Literal" && typeof node.value === "string") {
    return { parts: [node.value], begins: true, ends: true };
  }
  if (node.type === "TemplateLiteral") {
    const parts = node.quasis.map((quasi) => quasi.cooked);
    return { parts, begins: parts[0] !== "", ends: parts.at(-1) !== "" };
  }
  if (node.type === "BinaryExpression" && node.operator === "+") {
    const left = textOf(node.left);
    const right = textOf(node.right);
    if (left === null && right === null) return null;
    return {
      parts: [...left?.parts ?? [], ...right?.parts ?? []],
      begins: left?.begins ?? false,
      ends: right?.ends ?? false,
    };
  }
  return null;
}
