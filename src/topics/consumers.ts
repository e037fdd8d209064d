/** The consumers of an application, for operators and tests. */
import type { ConsumerReport } from "./topic_report.ts";

/**
 * What was redelivered.
 *
 * @ignore
 */
export interface Redelivery {
  /** How many messages are delivered to the consumer again. */
  readonly redelivered: number;
  /** The ids of messages that are no longer kept. */
  readonly gone: readonly string[];
}

/**
 * The consumers of an application, and those of others in the same store, for operators and tests:
 * `app.consumers` and `request.app.consumers`. A consumer has the name of its topic, a slash and
 * its own name, such as `orders/mail`. `webfw topics` does the same.
 *
 * @example A pause
 * ```ts
 * import { App } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * const orders = app.topic<string>("orders");
 * const mails: string[] = [];
 * orders.consume("mail", ({ data }) => mails.push(data));
 * await app.start();
 *
 * await app.consumers.pause("orders/mail");
 * await orders.publish("tea");
 * const [mail] = await app.consumers.report();
 * assertEquals([mail?.paused instanceof Date, mails], [true, []]);
 *
 * await app.consumers.resume("orders/mail");
 * await app.consumers.idle();
 * assertEquals(mails, ["tea"]);
 * await app.stop();
 * ```
 *
 * @category Topics
 */
export interface Consumers {
  /** Reports on the consumers of all topics, sorted by the names of the topics, then their own. */
  report(): Promise<readonly ConsumerReport[]>;

  /**
   * Pauses a consumer on all nodes, also those that start later, until it is resumed. Within about
   * a second the nodes begin with no further message. Running handlers go on. Publishing goes on,
   * too, and messages wait as long as their topic keeps them.
   *
   * @throws {TypeError} If there is no such consumer, or its topic is in the memory of another
   * process.
   */
  pause(name: string): Promise<void>;

  /**
   * Resumes a consumer.
   *
   * @throws {TypeError} As for {@linkcode Consumers.pause}.
   */
  resume(name: string): Promise<void>;

  /**
   * Delivers messages that the consumer has given up again, with all their attempts: those that the
   * store keeps, and those in dead letters.
   *
   * @param options The `ids` of some of those that the store keeps, by default all of both.
   * @throws {TypeError} As for {@linkcode Consumers.pause}.
   */
  retry(name: string, options?: { readonly ids?: readonly string[] }): Promise<Redelivery>;

  /**
   * Delivers the messages of dead letters to the consumer again, each letter once, also when two
   * operators do so. Other consumers of the topic do not get them. The dead letters stay in their
   * topic. One that fails again becomes another dead letter.
   *
   * @throws {TypeError} As for {@linkcode Consumers.pause}; if the application does not declare the
   * consumer, or it has no `deadLetter`.
   */
  redrive(name: string): Promise<Redelivery>;

  /**
   * Forgets messages that the consumer has given up and the store keeps.
   *
   * @param options The `ids` of some of them, by default all.
   * @returns How many there were.
   * @throws {TypeError} As for {@linkcode Consumers.pause}.
   */
  discard(name: string, options?: { readonly ids?: readonly string[] }): Promise<number>;

  /**
   * Forgets a consumer, its position and its stored failures. A process that still runs it begins
   * anew.
   *
   * @throws {TypeError} As for {@linkcode Consumers.pause}.
   */
  remove(name: string): Promise<void>;

  /**
   * Waits until consumers have handled or given up all messages that were published before: for
   * tests. It starts the application if it has not started.
   *
   * @param name One consumer, by default all of the application.
   * @param options Its `signal` ends the wait.
   * @throws {TypeError} If there is no such consumer.
   * @throws {Error} If messages wait for a consumer that is paused, or the application stops.
   */
  idle(name?: string, options?: { readonly signal?: AbortSignal }): Promise<void>;
}
