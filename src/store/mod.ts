/**
 * The types for a custom store of durable topics. Implement {@linkcode TopicStore}, and pass the
 * store to an application as the option `topics`.
 *
 * Records are beside topics: {@linkcode RecordStore}. `tests/contract/topic_store.ts` and
 * `tests/contract/record_store.ts` in the repository are test suites for stores.
 *
 * @example An application with a custom store
 * ```ts ignore
 * import { App } from "@webfw/core";
 * import type { TopicStore } from "@webfw/core/store";
 *
 * declare const store: TopicStore;
 * const app = new App({ topics: store });
 * ```
 *
 * @module
 */

export type {
  DeleteRecordOptions,
  ListedRecord,
  ProcessStore,
  RecordKey,
  RecordStore,
  SetRecordOptions,
  StoredRecord,
} from "./record_store.ts";
export {
  type AppendOptions,
  type AppendOutcome,
  type AppendResult,
  type Cursor,
  type IdMemory,
  LOG_START,
  type LogBounds,
  type LogPage,
  type LogPolicy,
  type LogPosition,
  type LogRef,
  type NewMessage,
  type ReadLimits,
  type StoreCapabilities,
  type StoredMessage,
  toGeneratedId,
  type TopicStore,
} from "./topic_store.ts";
