import { fallsBack, nodeOf, partsOf, type Schema, type SchemaNode } from "../../schema/schema.ts";
import { ownTitle } from "./pipe.ts";
import { Description } from "./converter.ts";
import { BINARY, isBinary } from "./non_json.ts";
import { annotate, type Form, type JsonSchema, type ModelScope, type Place } from "./json_schema.ts";
import { lazyTarget } from "../../schema/lazy_schema.ts";

/** A model of a document: a schema that has a name there. */

/** A schema in one of its forms, as a model. */
export interface Model {
  readonly form: Form;
  /** Whether its name is a title, rather than made of its use. */
  readonly isTitled: boolean;
  /** Its name, as far as nobody else wants the same. */
  readonly base: string;
  /** The same schema in the other form, if that is a model too. */
  readonly other: () => Model | undefined;
  /** What it is; set once all of it is described. */
  body: JsonSchema;
  /** The references in it, in order. */
  references: readonly Reference[];
}

/** A place that stands for a model, and gets its name at last. */
export interface Reference {
  readonly model: Model;
  readonly settle: (ref: string) => void;
}

/** The named models of a document: which schemas are models, and what stands for them. */

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

/** Names models: one name for what is the same, distinct names for what is not. */

/** A text as the name of a component: letters of ASCII, digits, `.`, `-` and `_`. */
export function componentName(text: string): string {
  const plain = text.normalize("NFKD").replace(/\p{M}/gu, "").replace(/[^a-zA-Z0-9._-]+/g, "_");
  return plain.replace(/^_+(?=.)|_+$/g, "") || "Model";
}

/** A text as a part of a name: its words, each with a capital. */
export function pascalCase(text: string): string {
  const words = componentName(text).split(/[^a-zA-Z0-9]+/);
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}

/**
 * Names models, those with titles first, each in their order.
 *
 * Models of one name are one where they say the same, down to all that they refer to; the others get numbers. Where what is
 * accepted and what is sent differ and the document has both, the former is called `…Input`.
 */
export function nameModels(models: readonly Model[]): ReadonlyMap<Model, string> {
  const classes = classesOf(models);
  const members = Map.groupBy(models, (model) => classes.get(model)!);
  const nameOf = new Map<number, string>();
  const taken = new Set<string>();
  const name = (model: Model, isAlone: boolean): void => {
    const wanted = new Map<string, number>();
    for (const form of [model, model.other()]) {
      const text = form && form.base + suffixOf(form);
      // Of two forms that want the same name, the other has its turn later.
      if (form && isUnnamed(form) && !wanted.has(text!)) wanted.set(text!, classes.get(form)!);
    }
    let number = 1;
    const numbered = (text: string): string => number === 1 ? text : text + number;
    while (wanted.keys().some((text) => taken.has(identifierOf(numbered(text))))) number++;
    if (isAlone && number > 1) return;
    for (const [text, of] of wanted) {
      nameOf.set(of, numbered(text));
      taken.add(identifierOf(numbered(text)));
    }
  };
  const isUnnamed = (model: Model): boolean => classes.has(model) && !nameOf.has(classes.get(model)!);
  const isSentOtherwise = (model: Model): boolean => {
    const other = model.form === "input" ? model.other() : undefined;
    return other !== undefined && classes.has(other) && classes.get(other) !== classes.get(model);
  };
  // By all that are the same: which of them comes first must not matter.
  const suffixOf = (model: Model): string => {
    const same = members.get(classes.get(model)!) ?? [];
    return same.some(isSentOtherwise) && same.every(({ form }) => form === "input") ? "Input" : "";
  };
  const ordered = [...models.filter(({ isTitled }) => isTitled), ...models.filter(({ isTitled }) => !isTitled)];
  // A number must not take the name that a later model has by itself.
  for (const isAlone of [true, false]) {
    for (const model of ordered) if (isUnnamed(model)) name(model, isAlone);
  }
  return new Map(models.map((model) => [model, nameOf.get(classes.get(model)!)!]));
}

/** What is left of a name in every language that code is generated in. */
function identifierOf(name: string): string {
  return name.replace(/[^a-zA-Z0-9]/g, "").toLowerCase();
}

/**
 * The classes of models that are the same: all of one name at first, parted as long as some of a class say different things or
 * refer to models of different classes. So models that hold themselves are told apart only by what they say.
 */
function classesOf(models: readonly Model[]): ReadonlyMap<Model, number> {
  let classes = numbered(models, ({ base, body }) => `${base} ${JSON.stringify(body)}`);
  for (let count = 0; count !== classes.count;) {
    count = classes.count;
    const { of } = classes;
    classes = numbered(
      models,
      (model) => [model, ...model.references.map(({ model }) => model)].map((part) => of.get(part)).join(),
    );
  }
  return classes.of;
}

/** Numbers models: the same number where the same is said of them. */
function numbered(
  models: readonly Model[],
  say: (model: Model) => string,
): { of: ReadonlyMap<Model, number>; count: number } {
  const numbers = new Map<string, number>();
  const of = new Map<Model, number>();
  for (const model of models) {
    const said = say(model);
    const number = numbers.get(said) ?? numbers.size;
    numbers.set(said, number);
    of.set(model, number);
  }
  return { of, count: numbers.size };
}

/** Checks, when a model is declared, that JSON can carry it: a document is made whole, or not at all. */

/** Kinds that JSON cannot carry, or not always. */
const FOREIGN: ReadonlySet<string> = new Set([
  "blob",
  "date",
  "file",
  "function",
  "instance",
  "map",
  "nan",
  "promise",
  "set",
  "symbol",
]);

/** What JSON carries of them where it is sent. */
const SENDABLE: ReadonlySet<string> = new Set(["date", "instance", "nan"]);

/** As many lazy schemas within one another as are followed: one that makes a new one each time goes on for ever. */
const MAX_LAZY = 64;

/** The schemas of which it is known. */
const carried: Readonly<Record<Form, WeakSet<SchemaNode>>> = { input: new WeakSet(), output: new WeakSet() };

/**
 * Checks a model.
 *
 * @param form Whether it is accepted, or sent.
 * @param model The model.
 * @param role What messages call it where it has no title.
 * @returns Why JSON cannot carry a part of it, if that is so: an `Error` of the getter of a lazy schema, or a `TypeError` whose
 * message begins with "Cannot describe".
 */
export function faultOf(form: Form, model: Schema, role: string): Error | undefined {
  if (isSeenCarried(form, model)) return undefined;
  const models = new Models("#/");
  try {
    if (form === "input") models.jsonInput(model, role);
    else models.jsonOutput(model, role);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return error;
  }
  return undefined;
}

/**
 * Checks a model, unless it cannot be told yet: the getter of a lazy schema may throw, as long as what it gives is not there.
 *
 * @param form Whether it is accepted, or sent.
 * @param model The model.
 * @param role What messages call it where it has no title.
 * @param action What is being done, for messages.
 * @throws {TypeError} When JSON cannot carry a part of it.
 */
export function checkJson(form: Form, model: Schema, role: string, action: string): void {
  const fault = faultOf(form, model, role);
  if (!(fault instanceof TypeError) || !fault.message.startsWith("Cannot describe ")) return;
  throw new TypeError(`Cannot ${action}: ${fault.message.replace("Cannot", "cannot")}`);
}

/** Whether it is seen at a look at each of its parts that JSON can carry a model. To describe it takes a hundred times as long. */
function isSeenCarried(form: Form, model: Schema): boolean {
  const seen = new Set<SchemaNode>();
  const isCarried = (node: SchemaNode, lazies: number): boolean => {
    if (carried[form].has(node) || seen.has(node)) return true;
    seen.add(node);
    if (FOREIGN.has(node.type) && !(form === "output" && SENDABLE.has(node.type))) return false;
    if (node.type !== "lazy") return partsOf(node).every((part) => isCarried(part, lazies));
    const target = lazies < MAX_LAZY ? targetOf(node) : undefined;
    return target !== undefined && isCarried(target, lazies + 1);
  };
  if (!isCarried(nodeOf(model), 0)) return false;
  for (const node of seen) carried[form].add(node);
  return true;
}

/** What a lazy schema stands for, where that can be told, and is there already. */
function targetOf(node: SchemaNode): SchemaNode | undefined {
  try {
    return lazyTarget(node);
  } catch {
    return undefined;
  }
}
