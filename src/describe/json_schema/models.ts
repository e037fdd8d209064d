/** The named models of a document, and the checks that JSON can represent them. */
import { fallsBack, isBinary, lazyTarget, nodeOf, partsOf, type Schema, type SchemaNode } from "../../schema/schema.ts";
import { Converter, type ModelScope } from "./converter.ts";
import { annotate, type Form, type Place } from "./json_schema.ts";
import type { JsonSchema } from "../../schema/json_schema.ts";
import { FILE, isRefused } from "./values.ts";
import { ownTitle } from "./pipe.ts";

/** Their title is only a caption: they never are models. */
const PLAIN: ReadonlySet<string> = new Set(
  ("any bigint blob boolean custom date file instance literal nan never null number string undefined unknown void")
    .split(" "),
);

/** Without a title, these are named by their use. */
const NAMED_BY_USE: ReadonlySet<string> = new Set(
  "intersect loose_object object object_with_rest strict_object variant".split(" "),
);

const COMPONENTS = "#/components/schemas/";

interface Reference {
  readonly model: Model;
  readonly holder: Record<string, unknown>;
  readonly key: string;
}

/**
 * Converts schemas, and collects the models: schemas with a title, recursive ones, and those named
 * by their use.
 *
 * Do not change a returned schema: its references are complete after {@linkcode
 * Models.definitions}.
 */
export class Models {
  readonly #base: string;
  readonly #scope: ModelScope;
  readonly #models: Readonly<Record<Form, Map<unknown, Model>>> = { input: new Map(), output: new Map() };
  readonly #byId = new Map<string, Model>();
  /** No schema of an application contains it. */
  readonly #idPrefix = crypto.randomUUID();
  #references: Reference[] = [];
  readonly #names = new Map<unknown, string>();
  /** Those of earlier definitions. */
  readonly #defined = new Map<Model, string>();
  /** The schemas in conversion, to detect recursion. */
  readonly #open = new Map<unknown, Place>();
  #roots: JsonSchema[] = [];

  /** @param base The start of references, such as `#/components/schemas/` or `#/$defs/`. */
  constructor(base: string) {
    this.#base = base;
    this.#scope = {
      isForGenerators: base === COMPONENTS,
      part: (...args) => this.#part(...args),
      name: (...args) => this.#name(...args),
    };
  }

  /**
   * The schema of JSON, or of a parameter, that the server accepts.
   *
   * @param name Names an object without a title. Without it, the object is written inline.
   * @throws {TypeError} If no JSON value can match.
   */
  jsonInput(schema: Schema, name?: string): JsonSchema {
    return this.#convert("input", nodeOf(schema), name);
  }

  /**
   * The schema of JSON that the server sends. A whole file or blob is bytes.
   *
   * @param name As in {@linkcode jsonInput}.
   * @throws {TypeError} If JSON would lose a part.
   */
  jsonOutput(schema: Schema, name?: string): JsonSchema {
    return isBinary(schema) ? FILE : this.#convert("output", nodeOf(schema), name);
  }

  /**
   * The models of the schemas that were converted since the last call, sorted by name. It completes
   * the references, and earlier models keep their names.
   */
  definitions(): Record<string, JsonSchema> {
    const models = this.#reachable();
    const withoutIds = (text: string) => text.replaceAll(new RegExp(`${this.#idPrefix} \\d+`, "g"), "");
    const names = nameModels([...this.#defined.keys(), ...models], this.#defined, withoutIds);
    for (const { model, holder, key } of this.#references) holder[key] = this.#base + names.get(model);
    const known = new Set(this.#defined.values());
    const added = models.map((model) => [names.get(model)!, model.body] as const).filter(([name]) => !known.has(name));
    const definitions = new Map(added.map(([name, body]) => {
      // Some generators name a model by its title.
      return [name, this.#scope.isForGenerators ? annotate(body, { title: name }) : body];
    }));
    for (const model of models) this.#defined.set(model, names.get(model)!);
    this.#references = [];
    this.#roots = [];
    return Object.fromEntries([...definitions].sort(([one], [other]) => one < other ? -1 : 1));
  }

  #convert(form: Form, node: SchemaNode, name: string | undefined): JsonSchema {
    if (name !== undefined && NAMED_BY_USE.has(node.type) && lastTitle(node) === undefined) this.#name(node, [name]);
    this.#open.clear();
    const schema = new Converter(form, this.#scope).convert(node, name === undefined ? [] : [name]);
    this.#roots.push(schema);
    return schema;
  }

  #part(form: Form, node: SchemaNode, place: Place, describe: (place: Place) => JsonSchema): JsonSchema {
    if (PLAIN.has(node.type)) return describe(place);
    const key = keyOf(node);
    const known = this.#models[form].get(key);
    if (known) return { $ref: known.id };
    const opened = this.#open.get(key);
    if (opened) return { $ref: this.#add(form, key, nameOf(opened)).id };
    const title = titleOf(node);
    const name = title ?? this.#names.get(key);
    if (name !== undefined) this.#add(form, key, name, title !== undefined);
    this.#open.set(key, place);
    const schema = describe(name === undefined ? place : [name]);
    this.#open.delete(key);
    const model = this.#models[form].get(key);
    if (!model) return schema;
    model.body = schema;
    return { $ref: model.id };
  }

  #name(node: SchemaNode, words: readonly string[]): void {
    const key = keyOf(node);
    if (!this.#names.has(key) && titleOf(node) === undefined) this.#names.set(key, nameOf(words));
  }

  #add(form: Form, key: unknown, name: string, isTitled = false): Model {
    if (!this.#names.has(key)) this.#names.set(key, name);
    const others = this.#models[form === "input" ? "output" : "input"];
    const model: Model = {
      form,
      isTitled,
      base: this.#names.get(key)!,
      other: () => others.get(key),
      id: `${this.#idPrefix} ${this.#byId.size}`,
      body: {},
      references: [],
    };
    this.#models[form].set(key, model);
    this.#byId.set(model.id, model);
    return model;
  }

  #reachable(): Model[] {
    const reached = new Set<Model>();
    const reach = (model: Model): void => {
      if (reached.has(model) || this.#defined.has(model)) return;
      reached.add(model);
      model.references.push(...this.#referencesIn(model.body));
      model.references.forEach(reach);
    };
    for (const root of this.#roots) this.#referencesIn(root).forEach(reach);
    return [...reached];
  }

  /** Collects the direct references of a schema. */
  #referencesIn(schema: object, found: Model[] = []): Model[] {
    for (const [key, value] of Object.entries(schema)) {
      if (typeof value === "object" && value !== null) this.#referencesIn(value, found);
      const model = typeof value === "string" ? this.#byId.get(value) : undefined;
      if (!model) continue;
      found.push(model);
      this.#references.push({ model, holder: schema as Record<string, unknown>, key });
    }
    return found;
  }
}

/** The identity of a schema: a copy of a pipe, such as that of `v.cache`, has the same steps. */
function keyOf(node: SchemaNode): unknown {
  return fallsBack(node) ? node : node.pipe ?? node;
}

/** A schema with a fallback accepts more than its title describes. */
function titleOf(node: SchemaNode): string | undefined {
  const title = ownTitle(node);
  if (title === undefined || fallsBack(node) || isPlain(node)) return undefined;
  // A model inside of a pipe with the same title stays one model.
  return title === lastTitle(node.pipe?.[0] as SchemaNode) ? undefined : componentName(title);
}

/** The title of a schema, else of the first schema of its pipe. */
function lastTitle(node: SchemaNode): string | undefined {
  return ownTitle(node) ?? (node.pipe && lastTitle(node.pipe[0] as SchemaNode));
}

function isPlain({ type, wrapped }: SchemaNode): boolean {
  return wrapped ? isPlain(wrapped) : PLAIN.has(type);
}

/** A lazy schema can return a new schema each time. */
const MAX_LAZY = 64;

const carried: Readonly<Record<Form, WeakSet<SchemaNode>>> = { input: new WeakSet(), output: new WeakSet() };

/**
 * Why JSON cannot represent a model: the error of a lazy getter, or a `TypeError` that begins with
 * "Cannot describe".
 *
 * @param role The name in messages if the model has no title.
 */
export function faultOf(form: Form, model: Schema, role: string): Error | undefined {
  if (isCarried(form, model)) return undefined;
  try {
    const models = new Models("#/");
    if (form === "input") models.jsonInput(model, role);
    else models.jsonOutput(model, role);
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
  return undefined;
}

/**
 * Refuses a model that JSON cannot represent. A lazy schema whose getter throws may be declared
 * later.
 *
 * @param role The name in messages if the model has no title.
 * @param action For messages: "register GET /".
 */
export function checkJson(form: Form, model: Schema, role: string, action: string): void {
  const fault = faultOf(form, model, role);
  if (!(fault instanceof TypeError) || !fault.message.startsWith("Cannot describe ")) return;
  throw new TypeError(`Cannot ${action}: ${fault.message.replace("Cannot", "cannot")}`);
}

/** A hundred times faster than a conversion. */
function isCarried(form: Form, model: Schema): boolean {
  const seen = new Set<SchemaNode>();
  const isNodeCarried = (node: SchemaNode, lazies: number): boolean => {
    if (carried[form].has(node) || seen.has(node)) return true;
    seen.add(node);
    if (isRefused(node, form)) return false;
    if (node.type !== "lazy") return partsOf(node).every((part) => isNodeCarried(part, lazies));
    const target = lazies < MAX_LAZY ? targetOf(node) : undefined;
    return target !== undefined && isNodeCarried(target, lazies + 1);
  };
  if (!isNodeCarried(nodeOf(model), 0)) return false;
  for (const node of seen) carried[form].add(node);
  return true;
}

/** Undefined if it is not declared yet. */
function targetOf(node: SchemaNode): SchemaNode | undefined {
  try {
    return lazyTarget(node);
  } catch {
    return undefined;
  }
}

interface Model {
  readonly form: Form;
  /** Whether the name is a title. */
  readonly isTitled: boolean;
  readonly base: string;
  /** The other form of the same schema, if it is also a model. */
  readonly other: () => Model | undefined;
  /** The placeholder in references until all models have names. */
  readonly id: string;
  body: JsonSchema;
  /** The body without references, to compare it also after they are completed. */
  text?: string;
  /** The models in the body; complete after all conversions. */
  readonly references: Model[];
}

/** Joins words, the first of which is a name. */
function nameOf([first = "Model", ...others]: readonly string[]): string {
  return componentName(first) + others.map(pascalCase).join("");
}

/** Converts a string to ASCII letters, digits, `.`, `-` and `_`. */
export function componentName(text: string): string {
  const plain = text.normalize("NFKD").replace(/\p{M}/gu, "").replace(/[^a-zA-Z0-9._-]+/g, "_");
  return plain.replace(/^_+(?=.)|_+$/g, "") || "Model";
}

export function pascalCase(text: string): string {
  const words = componentName(text).split(/[^a-zA-Z0-9]+/);
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}

/**
 * Names models, those with titles first.
 *
 * Models with one name are merged if they are equal, with all references; otherwise they get
 * numbers. If the document has both forms of a schema and they differ, the input is named `…Input`.
 */
function nameModels(
  models: readonly Model[],
  defined: ReadonlyMap<Model, string>,
  withoutIds: (text: string) => string,
): ReadonlyMap<Model, string> {
  const classes = classesOf(models, withoutIds);
  const classOf = (model: Model): number => classes.get(model)!;
  const members = Map.groupBy(models, classOf);
  const names = new Map(defined.entries().map(([model, name]) => [classOf(model), name] as const));
  const taken = new Set(defined.values().map(identifierOf));
  const isUnnamed = (model: Model): boolean => classes.has(model) && !names.has(classOf(model));
  const differsInOutput = (model: Model): boolean => {
    const output = model.form === "input" ? model.other() : undefined;
    return output !== undefined && classes.has(output) && classOf(output) !== classOf(model);
  };
  // All members of a class decide, so the order of routes does not matter.
  const suffixOf = (model: Model): string => {
    const equal = members.get(classOf(model))!;
    return equal.some(differsInOutput) && equal.every(({ form }) => form === "input") ? "Input" : "";
  };
  const name = (model: Model, isNumbered: boolean): void => {
    // Both forms of a schema get the same number.
    const wanted = new Map<string, number>();
    for (const form of [model, model.other()]) {
      if (!form || !isUnnamed(form)) continue;
      const text = form.base + suffixOf(form);
      // Two forms that want the same name are named one after the other.
      if (!wanted.has(text)) wanted.set(text, classOf(form));
    }
    let number = 1;
    const numbered = (text: string): string => number === 1 ? text : text + number;
    while (wanted.keys().some((text) => taken.has(identifierOf(numbered(text))))) number++;
    if (number > 1 && !isNumbered) return;
    for (const [text, named] of wanted) {
      names.set(named, numbered(text));
      taken.add(identifierOf(numbered(text)));
    }
  };
  const ordered = [...models.filter(({ isTitled }) => isTitled), ...models.filter(({ isTitled }) => !isTitled)];
  // Numbers come last: "Book2" may be the name of another model.
  for (const isNumbered of [false, true]) {
    for (const model of ordered) if (isUnnamed(model)) name(model, isNumbered);
  }
  return new Map(models.map((model) => [model, names.get(classOf(model))!]));
}

/** Code generators ignore case and separators. */
function identifierOf(name: string): string {
  return name.replace(/[^a-zA-Z0-9]/g, "").toLowerCase();
}

/**
 * Partitions models into classes of equal ones: first by name and body, then by splitting classes
 * until all members refer to the same classes. So recursive models can be equal.
 */
function classesOf(models: readonly Model[], withoutIds: (text: string) => string): ReadonlyMap<Model, number> {
  let classes = numberBy(models, (model) => {
    return `${model.base} ${model.text ??= withoutIds(JSON.stringify(model.body))}`;
  });
  for (let count = 0; count !== new Set(classes.values()).size;) {
    count = new Set(classes.values()).size;
    const previous = classes;
    classes = numberBy(models, (model) => [model, ...model.references].map((one) => previous.get(one)).join());
  }
  return classes;
}

/** Numbers models: equal strings get equal numbers. */
function numberBy(models: readonly Model[], textOf: (model: Model) => string): ReadonlyMap<Model, number> {
  const numbers = new Map<string, number>();
  return new Map(models.map((model) => {
    const text = textOf(model);
    const number = numbers.get(text) ?? numbers.size;
    numbers.set(text, number);
    return [model, number];
  }));
}

/** Appends a number to a taken name. */
export function freeName(wanted: string, isTaken: (name: string) => boolean): string {
  let name = wanted;
  for (let number = 2; isTaken(name); number++) name = `${wanted}${number}`;
  return name;
}
