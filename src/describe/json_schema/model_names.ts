/** Names models: one name for what is the same, distinct names for what is not. */
import type { Model } from "./model.ts";

/** A text as the name of a component: letters of ASCII, digits, `.`, `-` and `_`. */
export function componentName(text: string): string {
  const plain = text.normalize("NFKD").replace(/\p{M}/gu, "").replace(/[^a-zA-Z0-9._-]+/g, "_");
  return plain.replace(/^_+(?=.)|_+$/g, "") || "Model";
}

/**
 * Names models, in their order.
 *
 * Models of one name are one where they say the same, down to all that they refer to; the others get numbers. Where what is
 * accepted and what is sent differ and the document has both, the former is called `…Input`.
 */
export function nameModels(models: readonly Model[]): ReadonlyMap<Model, string> {
  const classes = classesOf(models);
  const nameOf = new Map<number, string>();
  const taken = new Set<string>();
  const name = (model: Model, isAlone: boolean): void => {
    const unnamed = [model, model.other()].filter((form) => form !== undefined && isUnnamed(form)) as Model[];
    const wanted = unnamed.map((form) => form.base + suffixOf(form));
    let number = 1;
    const numbered = (text: string): string => number === 1 ? text : text + number;
    while (wanted.some((text) => taken.has(numbered(text)))) number++;
    if (isAlone && number > 1) return;
    unnamed.forEach((form, index) => {
      nameOf.set(classes.get(form)!, numbered(wanted[index]!));
      taken.add(numbered(wanted[index]!));
    });
  };
  const isUnnamed = (model: Model): boolean => classes.has(model) && !nameOf.has(classes.get(model)!);
  const suffixOf = (model: Model): string => {
    const other = model.form === "input" ? model.other() : undefined;
    return other && classes.has(other) && classes.get(other) !== classes.get(model) ? "Input" : "";
  };
  // A number must not take the name that a later model has by itself.
  for (const isAlone of [true, false]) {
    for (const model of models) if (isUnnamed(model)) name(model, isAlone);
  }
  return new Map(models.map((model) => [model, nameOf.get(classes.get(model)!)!]));
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
