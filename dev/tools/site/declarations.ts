/** The declarations of a module as a program sees them: without bodies and private members. */
import ts from "typescript";

/** A member of a class. */
export interface Member {
  readonly name: string;
  readonly text: string;
}

/** A declaration that is exported. */
export interface Declaration {
  readonly text: string;
  /** The public members of a class; empty for all else. */
  readonly members: readonly Member[];
}

/** Reads declarations by file and name. */
export class Declarations {
  readonly #files = new Map<string, ts.SourceFile>();

  /**
   * All declarations of a name, such as the overloads of a function.
   *
   * @param file The path of the module.
   * @param name The name of the symbol in the module.
   */
  async of(file: string, name: string): Promise<Declaration[]> {
    const source = this.#files.get(file) ?? await this.#read(file);
    const found = source.statements.filter((statement) => namesOf(statement).includes(name));
    return found.map((statement) => ({
      text: ts.isClassDeclaration(statement) ? headOf(statement, source) : textOf(statement, source),
      members: ts.isClassDeclaration(statement) ? membersOf(statement, source) : [],
    }));
  }

  async #read(file: string): Promise<ts.SourceFile> {
    const { outputText } = ts.transpileDeclaration(await Deno.readTextFile(file), {
      fileName: file,
      compilerOptions: { target: ts.ScriptTarget.ESNext, isolatedDeclarations: true },
    });
    const source = ts.createSourceFile(file, outputText, ts.ScriptTarget.ESNext, true);
    this.#files.set(file, source);
    return source;
  }
}

function namesOf(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  }
  const { name } = statement as ts.Statement & { name?: ts.Identifier };
  return name === undefined ? [] : [name.text];
}

function textOf(node: ts.Node, source: ts.SourceFile, end = node.getEnd()): string {
  return source.text.slice(node.getStart(source), end)
    .replace(/^export (default )?(declare )?/, "")
    .replaceAll(/\{@link(?:code|plain)? ([^}]+)\}/g, "$1");
}

/** A class without its members, which are listed one by one. */
function headOf(node: ts.ClassDeclaration, source: ts.SourceFile): string {
  const first = node.members[0];
  return first === undefined ? textOf(node, source) : `${textOf(node, source, first.getFullStart())} … }`;
}

function membersOf(node: ts.ClassDeclaration, source: ts.SourceFile): Member[] {
  return node.members.flatMap((member) => {
    const name = ts.isConstructorDeclaration(member) ? "constructor" : member.name?.getText(source);
    return name === undefined || name.startsWith("#") || name.startsWith("[") ||
        (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private) !== 0
      ? []
      : [{ name, text: textOf(member, source) }];
  });
}
