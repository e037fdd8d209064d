/** Records in memory for several workers of a process: one keeps them, the others call it. */
import type { ListedRecord, RecordKey, RecordStore, StoreDeletion, StoredRecord, StoreWrite } from "../record_store.ts";

/** A call of a store of records, as workers send it. */
export type RecordCall =
  & { readonly call: "record"; readonly key: RecordKey }
  & (
    | { readonly method: "get" | "list" }
    | { readonly method: "set"; readonly value: string; readonly write: StoreWrite }
    | { readonly method: "delete"; readonly deletion: StoreDeletion }
  );

/** Carries out the call of another worker. */
export async function callRecords(records: RecordStore, call: RecordCall): Promise<unknown> {
  switch (call.method) {
    case "get":
      return await records.get(call.key);
    case "set":
      return await records.set(call.key, call.value, call.write);
    case "delete":
      return await records.delete(call.key, call.deletion);
    case "list":
      return await Array.fromAsync(records.list(call.key));
  }
}

/** The records of another worker. */
export class RemoteRecords implements RecordStore {
  readonly #call: <Value>(call: RecordCall) => Promise<Value>;

  /** @param call Has a call carried out by the worker that keeps the records. */
  constructor(call: <Value>(call: RecordCall) => Promise<Value>) {
    this.#call = call;
  }

  get(key: RecordKey): Promise<StoredRecord | null> {
    return this.#call({ call: "record", method: "get", key });
  }

  set(key: RecordKey, value: string, write: StoreWrite): Promise<string | null> {
    return this.#call({ call: "record", method: "set", key, value, write });
  }

  delete(key: RecordKey, deletion: StoreDeletion): Promise<boolean> {
    return this.#call({ call: "record", method: "delete", key, deletion });
  }

  async *list(prefix: RecordKey): AsyncGenerator<ListedRecord> {
    yield* await this.#call<readonly ListedRecord[]>({ call: "record", method: "list", key: prefix });
  }
}
