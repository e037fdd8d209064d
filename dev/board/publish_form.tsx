// A form for a message, by the JSON Schema of its topic.

import type { JSX } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { api } from "./api.ts";
import { act } from "./parts.tsx";

interface Property {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly title?: string;
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
}

interface ObjectSchema extends Property {
  readonly properties?: Readonly<Record<string, Property>>;
  readonly required?: readonly string[];
}

/** The fields of an object whose properties are all simple; undefined for any other schema. */
function fieldsOf(schema: ObjectSchema | null): readonly (readonly [string, Property])[] | undefined {
  const fields = Object.entries(schema?.properties ?? {});
  const isSimple = ({ type, enum: values }: Property) =>
    values !== undefined || (typeof type === "string" && /^(?:string|number|integer|boolean)$/.test(type));
  return schema?.type === "object" && fields.length > 0 && fields.every(([, field]) => isSimple(field))
    ? fields
    : undefined;
}

export function PublishForm({ topic, onDone }: { topic: string; onDone: () => void }): JSX.Element {
  const [schema, setSchema] = useState<ObjectSchema | null | undefined>(undefined);
  useEffect(() => {
    api.get("/api/schema", { topic }).then(
      ({ schema }) => setSchema(schema as ObjectSchema | null),
      () => setSchema(null),
    );
  }, [topic]);
  if (schema === undefined) return <p class="empty" role="status">Loading…</p>;
  const fields = fieldsOf(schema);
  const submit = (element: HTMLFormElement) => {
    const form = new FormData(element);
    void act(async () => {
      const data = fields ? valueOf(fields, schema?.required ?? [], form) : JSON.parse(String(form.get("~data")));
      const { id, duplicate } = await api.post("/api/publish", { body: { topic, data } });
      onDone();
      return duplicate ? `It was there already, as ${id}` : `Published as ${id}`;
    });
  };
  return (
    <form
      class="card"
      onSubmit={(event) => {
        event.preventDefault();
        submit(event.currentTarget);
      }}
    >
      <h2>Publish to {topic}</h2>
      {fields
        ? fields.map(([name, field]) => (
          <Field key={name} name={name} field={field} isRequired={schema?.required?.includes(name) ?? false} />
        ))
        : (
          <textarea name="~data" rows={8} required spellcheck={false} aria-label="Data, as JSON">
            {skeleton(schema)}
          </textarea>
        )}
      <div class="actions">
        <button type="button" onClick={onDone}>Cancel</button>
        <button type="submit" class="primary">Publish</button>
      </div>
    </form>
  );
}

function Field({ name, field, isRequired }: { name: string; field: Property; isRequired: boolean }): JSX.Element {
  const id = useId();
  const { title = name, description } = field;
  return (
    <div class="field">
      <label for={id}>{title}</label>
      <Control id={id} name={name} field={field} isRequired={isRequired} />
      <small>{[isRequired ? "" : "optional", description ?? ""].filter(Boolean).join(", ")}</small>
    </div>
  );
}

function Control(
  { id, name, field, isRequired }: { id: string; name: string; field: Property; isRequired: boolean },
): JSX.Element {
  const { type, enum: values, minimum, maximum, maxLength } = field;
  const choices = values ?? (type === "boolean" ? [true, false] : undefined);
  if (choices) {
    return (
      <select id={id} name={name} required={isRequired}>
        {!isRequired && <option value="">–</option>}
        {choices.map((value) => <option key={String(value)} value={JSON.stringify(value)}>{String(value)}</option>)}
      </select>
    );
  }
  if (type === "string") {
    return <input id={id} name={name} required={isRequired} {...(maxLength !== undefined && { maxLength })} />;
  }
  return (
    <input
      id={id}
      name={name}
      type="number"
      step={type === "integer" ? 1 : "any"}
      required={isRequired}
      {...(minimum !== undefined && { min: minimum })}
      {...(maximum !== undefined && { max: maximum })}
    />
  );
}

function valueOf(
  fields: readonly (readonly [string, Property])[],
  required: readonly string[],
  form: FormData,
): Record<string, unknown> {
  const found = fields.map(([name, { type, enum: values }]) => {
    const text = String(form.get(name) ?? "");
    return [name, type === "string" && !values ? text : text === "" ? undefined : JSON.parse(text)] as const;
  });
  return Object.fromEntries(
    found.filter(([name, value]) => required.includes(name) || (value !== undefined && value !== "")),
  );
}

/** JSON with the required properties, to be filled in. */
function skeleton(schema: ObjectSchema | null): string {
  const names = schema?.required ?? [];
  if (names.length === 0) return "";
  const empty = { string: "", number: 0, integer: 0, boolean: false, array: [], object: {} } as Record<string, unknown>;
  const value = (name: string) => empty[String(schema?.properties?.[name]?.type)] ?? null;
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, value(name)])), null, 2);
}
