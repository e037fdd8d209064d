/** What a topic carries, and what its readers are told. */

/** A message as readers get it. It is shared by all readers, so that it cannot be changed. */
export interface TopicMessage<Data = unknown> {
  /**
   * The place of the message in its topic: what a reader resumes after. It says nothing else; of two messages of a topic, the
   * later one has the greater text.
   */
  readonly id: string;
  /** The kind of message, where the publisher gave one. It is the event name of server-sent events. */
  readonly type: string | undefined;
  /** What was published, as the topic's schema gave it. */
  readonly data: Data;
  /** When it was stored. */
  readonly time: Date;
}

/**
 * Why messages are missing: `retention`, those after the id to resume from are no longer kept; `slow`, the reader fell so far
 * behind that they are no longer kept; `epoch`, the id is from another life of the topic, such as a process that has ended;
 * `ahead`, the topic has not come as far as the id, because its store was set back.
 */
export type GapReason = "retention" | "slow" | "epoch" | "ahead";

/** Tells a reader that it misses messages. Reading goes on at the oldest message that is kept. */
export interface TopicGap {
  /** What is missing. */
  readonly gap: {
    /** Why messages are missing. */
    readonly reason: GapReason;
    /** The id that the reader had come to. */
    readonly from: string;
    /** The id of the message that comes next; null where none is kept. */
    readonly oldest: string | null;
  };
}

/** What a reader of a topic gets: a message, or word of those that are missing. */
export type TopicEntry<Data = unknown> = TopicMessage<Data> | TopicGap;
