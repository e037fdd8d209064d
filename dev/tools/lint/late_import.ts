// Modules are loaded late by `load()` alone, outside of the async context of any request.

import { isPublished, repositoryPath } from "./layers.ts";

/** `import()` stands in `load(() => import(…))`. The command line answers no requests. */
export const lateImport: Deno.lint.Rule = {
  create(context) {
    const self = repositoryPath(context.filename);
    if (!isPublished(self) || self.startsWith("src/cli/")) return {};
    return {
      ImportExpression(node) {
        const { parent } = node;
        const call = parent.type === "ArrowFunctionExpression" && parent.body === node ? parent.parent : undefined;
        if (call?.type === "CallExpression" && call.callee.type === "Identifier" && call.callee.name === "load") return;
        const message = "Deno keeps the async context of an import(), and later requests would see it";
        context.report({ node, message, hint: "Write load(() => import(…))" });
      },
    };
  },
};
