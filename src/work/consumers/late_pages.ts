/** Pages of late messages, for a record that has too many to hold them itself. */
import type { RecordStore } from "../../store/record_store.ts";
import { type ConsumerName, decodePage, encodePage, type Late, type LatePage, pageKey } from "./record.ts";

/** The pages of one consumer in the store. */
export class LatePages {
  readonly #records: RecordStore;
  readonly #consumer: ConsumerName;
  /** Pages that were written, and the version of the record that was to be replaced. */
  readonly #unconfirmed: { readonly id: string; readonly version: string | null }[] = [];

  constructor(records: RecordStore, consumer: ConsumerName) {
    this.#records = records;
    this.#consumer = consumer;
  }

  /**
   * Writes a page, to which the record does not refer yet.
   *
   * @param messages The late messages.
   * @param version The version of the record that will be replaced by one with the page.
   * @returns The id of the page.
   */
  async write(messages: readonly Late[], version: string | null): Promise<string> {
    const id = crypto.randomUUID().slice(0, 13);
    this.#unconfirmed.push({ id, version });
    await this.#records.set(pageKey(this.#consumer, id), encodePage(messages), { expect: null });
    return id;
  }

  /** The messages of a page; none if another node has deleted it. */
  async read(id: string): Promise<readonly Late[]> {
    const record = await this.#records.get(pageKey(this.#consumer, id));
    return record ? decodePage(record.value) : [];
  }

  /** Deletes a page to which the record no longer refers. */
  async delete(id: string): Promise<void> {
    // A page without a reference is never read, so a failure does no harm.
    await this.#records.delete(pageKey(this.#consumer, id), {}).catch(() => {});
  }

  /**
   * Deletes pages to which the record will never refer, because their writes of it were refused.
   *
   * @param pages The pages of the record.
   * @param version The version of the record.
   */
  async deleteOrphans(pages: readonly LatePage[], version: string | null): Promise<void> {
    const referred = new Set(pages.map(({ id }) => id));
    for (const page of [...this.#unconfirmed]) {
      // A write without a reply may still be carried out while the record is as it expects.
      if (page.version === version) continue;
      this.#unconfirmed.splice(this.#unconfirmed.indexOf(page), 1);
      if (!referred.has(page.id)) await this.delete(page.id);
    }
  }
}
