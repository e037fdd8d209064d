/** The names of models. Equal models share one; others with the same name get numbers. */
import type { Form, JsonSchema } from "./json_schema.ts";

export interface Model {
  readonly form: Form;
  /** Whether the name is a title. */
  readonly isTitled: boolean;
  readonly base: string;
  /** The other form of the same schema, if it is also a model. */
  readonly other: () => Model | undefined;
  /** The placeholder in references until all models have names. */
  readonly id: string;
  body: JsonSchema;
  /** The models in the body; complete after all conversions. */
  readonly references: Model[];
}

/** Joins words, the first of which is a name. */
export function nameOf([first = "Model", ...others]: readonly string[]): string {
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
export function nameModels(models: readonly Model[], withoutIds: (text: string) => string): ReadonlyMap<Model, string> {
  const classes = classesOf(models, withoutIds);
  const classOf = (model: Model): number => classes.get(model)!;
  const members = Map.groupBy(models, classOf);
  const names = new Map<number, string>();
  const taken = new Set<string>();
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
  let classes = numberBy(models, ({ base, body }) => `${base} ${withoutIds(JSON.stringify(body))}`);
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
