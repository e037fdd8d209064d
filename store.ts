/**
 * What a store of durable topics has to do: implement {@linkcode TopicStore}, and give it to an App as
 * `topics`.
 *
 * `tests/contract/topic_store.ts` of the repository is a suite of tests for such a store.
 *
 * @example A store that counts its appends
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

export {
  type AppendOptions,
  type AppendOutcome,
  type AppendResult,
  type Cursor,
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
} from "./src/topics/store.ts";
