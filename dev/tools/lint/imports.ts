// Finds the imports of a module in its syntax tree. The only list of what counts as an import.

/** An import. Its specifier is `null` if the program computes it. */
export interface Import {
  /** The specifier as in the source. */
  specifier: string | null;
  /** The node to report. */
  node: Deno.lint.Node;
}

/**
 * A visitor that calls `found` for each import of a module: of values and of
 * types, re-exports, dynamic imports and `import("…")` types.
 */
export function importVisitor(
  found: (entry: Import) => void,
): Deno.lint.LintVisitor {
  const literal = (node: Deno.lint.Node | null) => {
    if (node === null) return;
    const specifier = node.type === "Literal" && typeof node.value === "string" ? node.value : null;
    found({ specifier, node });
  };
  return {
    ImportDeclaration: (node) => literal(node.source),
    ExportNamedDeclaration: (node) => literal(node.source),
    ExportAllDeclaration: (node) => literal(node.source),
    ImportExpression: (node) => literal(node.source),
    TSImportType: ({ argument }) => literal(argument.type === "TSLiteralType" ? argument.literal : argument),
    TSExternalModuleReference: (node) => literal(node.expression),
  };
}
