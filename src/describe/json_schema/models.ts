/** The named models of a document: which schemas are models, and what stands for them. */
import { fallsBack, nodeOf, type Schema, type SchemaNode } from "../../schema/schema.ts";
import { ownTitle } from "./annotation.ts";
import { Description } from "./description.ts";
import { BINARY, isBinary } from "./binary.ts";
import { annotate, type JsonSchema } from "./json_schema.ts";
import { componentName, nameModels, pascalCase } from "./model_names.ts";
import type { Model, Reference } from "./model.ts";
import type { Form, ModelScope, Place } from "./model_scope.ts";

/** Kinds whose values have neither parts nor names of their own: their titles only caption them. */
const PLAIN = new Set([
  "any",
  "bigint",
  "blob",
  "boolean",
  "custom",
  "date",
  "file",
  "instance",
  "literal",
  "nan",
  "never",
  "null",
  "number",
  "string",
  "undefined",
  "unknown",
  "void",
]);

/** Kinds that are named by their use where they have no title. */
const NAMED_BY_USE = new Set([
  "intersect",
  "loose_object",
  "object",
  "object_with_rest",
  "strict_object",
  "variant",
]);

/** Where a document of OpenAPI keeps its models. */
const COMPONENTS = "#/components/schemas/";

/**
 * Describes schemas and collects the models among them: those with a title, those that hold themselves, and those that are
 * named by their use.
 *
 * What a method gave must not be changed, and is whole once {@linkcode Models.definitions} was called.
 */
export class Models {
  readonly #base: string;
  readonly #isForGenerators: boolean;
  readonly #scope: Scope;

  /**
   * Begins without any.
   *
   * @param base Where references point, such as `#/components/schemas/` or `#/$defs/`.
   */
  constructor(base: string) {
    this.#base = base;
    this.#isForGenerators = base === COMPONENTS;
    this.#scope = new Scope(this.#isForGenerators);
  }

  /**
   * The schema of a JSON value that the server accepts.
   *
   * @param schema What was declared.
   * @param name Names an object that has no title; without it, such an object is described where it stands.
   * @throws {TypeError} When no JSON value can satisfy a part of it.
   */
  jsonInput(schema: Schema, name?: string): JsonSchema {
    return this.#scope.describe("input", nodeOf(schema), name);
  }

  /**
   * The schema of a JSON value that the server sends. A file or blob, which is sent as it is, is described as bytes.
   *
   * @param schema What was declared.
   * @param name Names an object that has no title; without it, such an object is described where it stands.
   * @throws {TypeError} When JSON would lose a part of it.
   */
  jsonOutput(schema: Schema, name?: string): JsonSchema {
    return isBinary(schema) ? BINARY : this.#scope.describe("output", nodeOf(schema), name);
  }

  /**
   * The schema of a parameter that comes as text: of what its text stands for.
   *
   * @param schema What was declared.
   * @throws {TypeError} When no text can satisfy it.
   */
  textInput(schema: Schema): JsonSchema {
    return this.jsonInput(schema);
  }

  /** All models by their names, in the order of these. To be called last, once: it names what references stand for. */
  definitions(): Record<string, JsonSchema> {
    const models = reachable(this.#scope.references);
    const names = nameModels(models);
    for (const { references } of [this.#scope, ...models]) {
      for (const { model, settle } of references) settle(this.#base + names.get(model));
    }
    const named = new Map<string, JsonSchema>();
    for (const model of models) {
      const name = names.get(model)!;
      // Some generators take the title for the name.
      named.set(name, this.#isForGenerators ? annotate(model.body, { title: name }) : model.body);
    }
    return Object.fromEntries([...named].sort(([one], [other]) => one < other ? -1 : 1));
  }
}

/** Decides what is a model. */
class Scope implements ModelScope {
  readonly isForGenerators: boolean;
  /** The references outside of all models, and of what is being described. */
  references: Reference[] = [];
  readonly #models: Readonly<Record<Form, Map<unknown, Model>>> = { input: new Map(), output: new Map() };
  readonly #names = new Map<unknown, string>();
  readonly #open = new Map<unknown, Place>();
  readonly #referred = new WeakMap<JsonSchema, Model>();

  constructor(isForGenerators: boolean) {
    this.isForGenerators = isForGenerators;
  }

  describe(form: Form, node: SchemaNode, name: string | undefined): JsonSchema {
    if (name !== undefined && NAMED_BY_USE.has(node.type) && lastTitle(node) === undefined) this.name(node, [name]);
    this.#open.clear();
    return new Description(form, this).of(node, name === undefined ? [] : [name]);
  }

  part(form: Form, node: SchemaNode, place: Place, body: (place: Place) => JsonSchema): JsonSchema {
    if (PLAIN.has(node.type)) return body(place);
    const key = keyOf(node);
    const known = this.#models[form].get(key);
    if (known) return this.#referTo(known);
    const opened = this.#open.get(key);
    if (opened) return this.#referTo(this.#add(form, key, nameOf(opened)));
    const title = titleOf(node);
    const name = title ?? this.#names.get(key);
    if (name !== undefined) this.#add(form, key, name, title !== undefined);
    const start = this.references.length;
    this.#open.set(key, place);
    const schema = body(name === undefined ? place : [name]);
    this.#open.delete(key);
    const model = this.#models[form].get(key);
    if (!model) return schema;
    model.body = schema;
    model.references = this.references.splice(start);
    return this.#referTo(model);
  }

  name(node: SchemaNode, words: readonly string[]): void {
    const key = keyOf(node);
    if (!this.#names.has(key) && titleOf(node) === undefined) this.#names.set(key, nameOf(words));
  }

  refer(reference: JsonSchema, settle: (ref: string) => void): void {
    this.references.push({ model: this.#referred.get(reference)!, settle });
  }

  #add(form: Form, key: unknown, name: string, isTitled = false): Model {
    if (!this.#names.has(key)) this.#names.set(key, name);
    const other = this.#models[form === "input" ? "output" : "input"];
    const model: Model = {
      form,
      isTitled,
      base: this.#names.get(key)!,
      other: () => other.get(key),
      body: {},
      references: [],
    };
    this.#models[form].set(key, model);
    return model;
  }

  #referTo(model: Model): JsonSchema {
    const reference: JsonSchema = { $ref: "" };
    this.#referred.set(reference, model);
    this.refer(reference, (ref) => reference.$ref = ref);
    return reference;
  }
}

/** What makes two schemas the same: a copy of a pipe, such as `v.cache` makes, has the very steps of the pipe. */
function keyOf(node: SchemaNode): unknown {
  return fallsBack(node) ? node : node.pipe ?? node;
}

/** The name that a schema has by its title. What falls back takes anything: it is not what its title says. */
function titleOf(node: SchemaNode): string | undefined {
  const title = ownTitle(node);
  if (title === undefined || fallsBack(node) || isPlain(node)) return undefined;
  // A model that is piped once more under its own title is no other model.
  return title === lastTitle(node.pipe?.[0] as SchemaNode) ? undefined : componentName(title);
}

/** The title that a schema has, be it of a schema that it was made of. */
function lastTitle(node: SchemaNode): string | undefined {
  return ownTitle(node) ?? (node.pipe && lastTitle(node.pipe[0] as SchemaNode));
}

function isPlain({ type, wrapped }: SchemaNode): boolean {
  return wrapped ? isPlain(wrapped) : PLAIN.has(type);
}

/** A name made of words: the first as it is, since it is a name by itself. */
function nameOf(words: readonly string[]): string {
  const [first = "Model", ...others] = words;
  return componentName(first) + others.map(pascalCase).join("");
}

/** The models that references lead to, in the order in which they are met. */
function reachable(references: readonly Reference[]): Model[] {
  const models = new Set<Model>();
  const visit = (model: Model): void => {
    if (models.has(model)) return;
    models.add(model);
    for (const reference of model.references) visit(reference.model);
  };
  for (const { model } of references) visit(model);
  return [...models];
}
