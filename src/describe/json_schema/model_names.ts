/** Names models: one name for what is the same, distinct names for what is not. */
import type { Model } from "./model.ts";

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
    while (wanted.keys().some((text) => taken.has(keyOf(numbered(text))))) number++;
    if (isAlone && number > 1) return;
    for (const [text, of] of wanted) {
      nameOf.set(of, numbered(text));
      taken.add(keyOf(numbered(text)));
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
function keyOf(name: string): string {
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
