/** A message that a node has claimed. */
import type { Cursor } from "../../store/topic_store.ts";
import type { ReadMessage } from "./log_window.ts";

/** A delivery is in flight until the record has its outcome. */
export type Outcome =
  | {
    readonly isDone: true;
    /** The message is no longer in the log. */
    readonly isLost?: boolean;
  }
  | {
    readonly isDone: false;
    /** The next attempt, and when it may begin on the clock of the store. */
    readonly attempt: number;
    readonly due: number;
  };

export interface Delivery {
  readonly at: Cursor;
  /** Undefined if it is no longer in the log. */
  readonly message: ReadMessage | undefined;
  readonly attempt: number;
  readonly crashCount: number;
  readonly key: string | undefined;
  /** The position of its dead letter, if that is redelivered. */
  readonly letter?: Cursor | undefined;
  /** The start of its range; undefined if it is in none. */
  range: Cursor | undefined;
  index: number;
  outcome: Outcome | undefined;
}
