/** Checks stored messages against the schema of their topic, which may be newer than they are. */
import { toValidator, type Validator } from "../schema/check.ts";
import { summarizeIssues } from "../schema/issues.ts";
import { outputSchema } from "../schema/output_schema.ts";
import { type Dataset, nodeOf, type Schema } from "../schema/schema.ts";
import { ThrottledLog } from "../log/log.ts";

/** What messages of errors call the data. */
const DATA = "its data";
const LOGGED = "Stored messages do not fit the schema of their topic: readers get a gap, give new entries a default";

/** The data of a message that fits, or why it does not. */
export type CheckedData = { readonly data: unknown; readonly fault?: undefined } | { readonly fault: string };

/** Checks the data of stored messages. */
export class StoredCheck {
  readonly #topic: string;
  readonly #validator: Validator;
  readonly #log = new ThrottledLog("warn", LOGGED);

  /**
   * @param schema The schema of the topic. Messages are its output.
   * @param topic The name of the topic, for the log.
   */
  constructor(schema: Schema, topic: string) {
    this.#topic = topic;
    this.#validator = toValidator(outputSchema(nodeOf(schema)));
  }

  /** Whether `check` gives promises. */
  get isAsync(): boolean {
    return this.#validator.isAsync;
  }

  /** Checks data, and completes it by the defaults of entries that are newer. */
  check(data: unknown): CheckedData | Promise<CheckedData> {
    try {
      const dataset = this.#validator.validate(data, true);
      return dataset instanceof Promise ? dataset.then(toChecked, toFault) : toChecked(dataset);
    } catch (error) {
      return toFault(error);
    }
  }

  /** Notes that messages do not fit, with the id of the last of them. */
  note(count: number, id: string, fault: string): void {
    this.#log.note(count, { topic: this.#topic, message_id: id, fault });
  }
}

function toChecked({ issues, value }: Dataset): CheckedData {
  return issues ? { fault: summarizeIssues(issues, DATA) } : { data: value };
}

/** A check of the application may throw where data is not what it expects. */
function toFault(error: unknown): CheckedData {
  return { fault: `a check has thrown ${error}` };
}
