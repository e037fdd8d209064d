/** What the endpoints of the board use. */
import type { BoardTarget, Visit } from "../app/board_host.ts";
import type { PublishResult } from "../topics/publisher.ts";
import type { PublishOptions } from "../topics/topic.ts";
import type { Recorder } from "./recorder.ts";
import type { RouteInfoView } from "./route_list.ts";
import type { WorkView } from "./work_view.ts";

export type ConsumerAction = "retry" | "discard" | "pause" | "resume" | "redrive";

/** The reply to a request that was sent again. */
export interface SentAgain {
  readonly status: number;
  /** In milliseconds. */
  readonly duration: number;
  /** The number of the new request; null if it was only counted. */
  readonly number: number | null;
}

export interface BoardState {
  readonly app: BoardTarget["app"];
  readonly recorder: Recorder;
  readonly work: WorkView;
  readonly routes: () => readonly RouteInfoView[];
  readonly visitOf: (request: Request) => Visit;
  readonly log: (message: string, fields: Readonly<Record<string, unknown>>) => void;
  readonly sendAgain: (number: number) => Promise<SentAgain>;
  readonly publish: (topic: string, data: unknown, options: PublishOptions) => Promise<PublishResult>;
  readonly changeConsumer: (action: ConsumerAction, topic: string, name: string, id?: string) => Promise<string>;
  readonly runCron: (name: string) => Promise<void>;
}
