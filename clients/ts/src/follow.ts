import { create } from "@bufbuild/protobuf";
import { durationFromMs, durationMs } from "@bufbuild/protobuf/wkt";
import type { Client, Transport } from "@connectrpc/connect";
import { Code, createClient } from "@connectrpc/connect";
import type { Scope } from "../gen/beckon/v1/entity_pb.js";
import { ScopeSchema } from "../gen/beckon/v1/entity_pb.js";
import type { At, Changes, Delta, Heartbeat, Reset, WatchResponse, Window } from "../gen/beckon/v1/sync_pb.js";
import { SyncService } from "../gen/beckon/v1/sync_pb.js";
import { backoff, pause, times } from "./backoff.js";
import { equalBytes } from "./bytes.js";
import { BeckonError } from "./error.js";
import type { Store } from "./store.js";
import type { ChangesPage } from "./view.js";
import { View } from "./view.js";

/** FollowOptions say what to follow, and whom to tell. */
export interface FollowOptions {
  /** The way to the server, with the credential. */
  readonly transport: Transport;
  /** Where the view is kept. */
  readonly store: Store;
  /** A thread; the account when left out. */
  readonly thread?: string;
  /** What a bootstrap sends first. */
  readonly window?: Window;
  /** Called when the view is level with the server, and when it has changed and is whole. */
  readonly onChange: (view: View) => void;
  /** Called with what keeps the server away, and with undefined when it is back. */
  readonly onTrouble?: (trouble: BeckonError | undefined) => void;
  /** Gives numbers from 0 to below 1; for tests. */
  readonly random?: () => number;
}

/** How a stream ended, as far as the next one is concerned. */
type End = { wait: number };

/**
 * Follower keeps one view level with the server: by a stream that hears of each
 * change at once, or by long polls where streams do not come through. Whatever
 * ends a stream, it goes on from where the view is, so nothing is lost.
 */
export class Follower {
  readonly #o: FollowOptions;
  readonly #sync: Client<typeof SyncService>;
  readonly #scope: Scope;
  readonly #name: string;
  #view = new View();
  /** Something was applied that nobody was told of. */
  #untold = true;
  /** How often something failed since the view was level last. */
  #tries = 0;
  /** onTrouble was told that the server is away. */
  #lost = false;
  /** How many streams in a row ended before their first heartbeat. */
  #early = 0;
  /** When to try a stream again; 0 where streams come through. */
  #pollUntil = 0;
  /** When the last reset was, or is to be, acted on. */
  #resetAt = Number.NEGATIVE_INFINITY;
  /** Ends what is waited for, see wake. */
  #waking = new AbortController();

  constructor(options: FollowOptions) {
    this.#o = options;
    this.#sync = createClient(SyncService, options.transport);
    this.#name = options.thread === undefined ? "account" : `thread:${options.thread}`;
    this.#scope = create(ScopeSchema, {
      scope: options.thread === undefined ? { case: "account", value: true } : { case: "threadId", value: options.thread },
    });
  }

  /** What is held; look at it only in onChange or between its calls. */
  get view(): View { return this.#view; }

  /**
   * Drops the stream without asking, or stops waiting, and reads at once. For
   * an app that comes to the front and for a change of network: the connection
   * may be dead, and only silence would show it.
   */
  wake(): void {
    this.#tries = 0;
    this.#waking.abort();
  }

  /**
   * Follows until the signal fires. Throws a BeckonError that would be the same
   * at another try, and what the store or onChange throws; the view is then to
   * be opened again from the store.
   */
  async run(signal: AbortSignal): Promise<void> {
    this.#view = new View(await this.#o.store.open(this.#name));
    while (!signal.aborted) {
      this.#waking = new AbortController();
      const stop = linked(this.#waking, signal);
      try {
        const wait = await this.#step(this.#waking.signal);
        await pause(wait, this.#waking.signal);
      } finally {
        stop();
      }
    }
  }

  /** Follows in one way until it ends, and says how long to wait before the next. */
  async #step(until: AbortSignal): Promise<number> {
    if (this.#view.bootstrapping) {
      this.#untold = true;
      return this.#settle(until, () => this.#bootstrap(until));
    }
    const polls = this.#pollUntil - Date.now();
    if (polls > 0) return this.#settle(until, () => this.#poll(until, Math.min(times.pollWait, polls)));
    return this.#watch(until);
  }

  async #settle(until: AbortSignal, call: () => Promise<number>): Promise<number> {
    try {
      return await call();
    } catch (e) {
      if (until.aborted && e instanceof BeckonError) return 0;
      if (!(e instanceof BeckonError) || e.final) throw e;
      return this.#backoff(e);
    }
  }

  #backoff(e: BeckonError): number {
    if (this.#tries > 0) this.#trouble(e);
    return Math.max(backoff(this.#tries++, this.#random), e.retryAfter);
  }

  #trouble(e: BeckonError): void {
    if (this.#lost) return;
    this.#lost = true;
    this.#o.onTrouble?.(e);
  }

  readonly #random = (): number => (this.#o.random ?? Math.random)();

  /** The server was heard and nothing is missing. */
  #level(): void {
    this.#tries = 0;
    if (!this.#lost) return;
    this.#lost = false;
    this.#o.onTrouble?.(undefined);
  }

  #tell(): void {
    if (!this.#untold) return;
    this.#untold = false;
    this.#o.onChange(this.#view);
  }

  #keep(): Promise<void> { return this.#o.store.write(this.#name, this.#view.take()); }

  #at(): Pick<At, "scope" | "cursor" | "horizon"> {
    return { scope: this.#scope, cursor: this.#view.cursor, horizon: this.#view.horizon };
  }

  async #bootstrap(until: AbortSignal): Promise<number> {
    const { page } = this.#view;
    const request = { scope: this.#scope, page, ...(this.#o.window === undefined ? {} : { window: this.#o.window }) };
    try {
      const res = await this.#call(until, (signal) => this.#sync.bootstrap(request, { signal }));
      if (!this.#view.applyBootstrap(page, res)) return await this.#reset(page, 0);
      await this.#keep();
      return 0;
    } catch (e) {
      const refused = e instanceof BeckonError && e.code === Code.InvalidArgument && e.field === "page" && page.length > 0;
      if (!refused) throw e;
      return this.#reset(page, 0);
    }
  }

  /** Starts again, though not more often than a server with a fault can bear. */
  async #reset(refused: Uint8Array, after: number): Promise<number> {
    this.#view.applyReset(refused);
    await this.#keep();
    this.#untold = true;
    const now = Date.now();
    const budget = this.#resetAt + times.resetEvery - now;
    if (budget > 0) this.#trouble(new BeckonError("the server resets again and again", { code: Code.Unavailable }));
    const wait = Math.max(after, budget, 0);
    this.#resetAt = now + wait;
    return wait;
  }

  #resetBy(r: Reset): Promise<number> {
    return this.#reset(this.#view.cursor, r.after ? durationMs(r.after) : 0);
  }

  /** One long poll, and what is left behind it. */
  async #poll(until: AbortSignal, wait: number): Promise<number> {
    for (let more = true, first = true; more; first = false) {
      const at = this.#at();
      // What is there already is told first.
      const held = first && !this.#untold ? Math.max(0, Math.floor(wait)) : 0;
      const res = await this.#call(until, (signal) =>
        this.#sync.pull({ at: [at], wait: durationFromMs(held) }, { signal, timeoutMs: held + 15_000 }));
      const result = res.deltas[0]?.result;
      if (result?.case === "reset") return this.#resetBy(result.value);
      if (result?.case !== "changes") throw new BeckonError("no answer to a cursor", { code: Code.Internal });
      await this.#changes(result.value, at);
      ({ more } = result.value);
    }
    this.#level();
    this.#tell();
    return 0;
  }

  async #changes(c: Changes, at: { cursor: Uint8Array; horizon: Uint8Array }): Promise<void> {
    const moved = !equalBytes(c.next, at.cursor);
    this.#view.applyChanges(at.cursor, at.horizon, c satisfies ChangesPage);
    await this.#keep();
    this.#untold ||= moved;
  }

  async #call<T>(until: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await call(until);
    } catch (e) {
      throw BeckonError.from(e);
    }
  }

  /** Follows one stream to its end. */
  async #watch(until: AbortSignal): Promise<number> {
    const silent = new AbortController();
    const r: Reading = { patience: 0, live: false, beaten: false };
    let timer = setTimeout(() => silent.abort(), times.hello);
    // What ends the stream: silence, and whatever else this waits for.
    const open = new AbortController();
    const stop = [linked(open, until), linked(open, silent.signal)];
    try {
      for await (const frame of readable(this.#sync.watch({ at: [this.#at()] }, { signal: open.signal }))) {
        clearTimeout(timer);
        const end = await this.#take(r, frame, until);
        if (end) return end.wait;
        timer = setTimeout(() => silent.abort(), r.patience || times.hello);
      }
    } catch (e) {
      if (until.aborted && e instanceof BeckonError) return 0;
      return this.#broken(r, e, silent.signal.aborted);
    } finally {
      clearTimeout(timer);
      open.abort();
      for (const unlink of stop) unlink();
    }
    return this.#broken(r, new BeckonError("the stream ended", { code: Code.Unavailable }), false);
  }

  /** How to go on after a stream that ended without a Goaway. */
  #broken(r: Reading, e: unknown, silent: boolean): number {
    if (!(e instanceof BeckonError)) throw e;
    if ((silent && r.patience === 0) || e.code === Code.Unimplemented) this.#early = 3;
    else if (!silent && e.final) throw e;
    // A connection that was never made says nothing of streams.
    else if (!r.beaten && (r.patience > 0 || e.reason !== "UNREACHABLE")) this.#early++;
    if (this.#early >= 3) {
      this.#early = 2; // at the next try one more is enough
      this.#pollUntil = Date.now() + times.probeAfter;
      return 0;
    }
    return this.#backoff(e);
  }

  /** Applies one frame; an end where the stream has nothing more to say. */
  async #take(r: Reading, { frame }: WatchResponse, until: AbortSignal): Promise<End | undefined> {
    switch (frame.case) {
      case "hello":
        r.patience = Math.max(frame.value.beat ? durationMs(frame.value.beat) : 0, 1_000) * 2.2;
        return undefined;
      case "delta":
        return this.#delta(r, frame.value);
      case "caughtUp":
        r.live = true;
        this.#level();
        this.#tell();
        return undefined;
      case "heartbeat":
        return this.#beat(r, frame.value, until);
      case "goaway": {
        const bound = (d: Parameters<typeof durationMs>[0] | undefined): number => Math.min(d ? durationMs(d) : 0, times.goawayMax);
        const from = bound(frame.value.reconnectMin);
        return { wait: from + this.#random() * Math.max(bound(frame.value.reconnectMax) - from, 0) };
      }
      default:
        return undefined;
    }
  }

  async #delta(r: Reading, { result }: Delta): Promise<End | undefined> {
    if (result.case === "reset") return { wait: await this.#resetBy(result.value) };
    if (result.case !== "changes") return undefined;
    await this.#changes(result.value, this.#at());
    this.#untold = true;
    if (r.live && !result.value.more) this.#tell();
    return undefined;
  }

  /** Compares where the server believes the client to be with where it is. */
  async #beat(r: Reading, { sent }: Heartbeat, until: AbortSignal): Promise<End | undefined> {
    const [at] = sent;
    if (sent.length === 1 && at && equalBytes(at.cursor, this.#view.cursor)) {
      r.beaten = true;
      this.#early = this.#pollUntil = 0;
      return undefined;
    }
    return { wait: await this.#settle(until, () => this.#poll(until, 0)) };
  }
}

/** One stream as far as it has been read. */
interface Reading {
  /** How long it may be silent; 0 before the Hello. */
  patience: number;
  /** What was there before has all come. */
  live: boolean;
  /** A heartbeat has come. */
  beaten: boolean;
}

/** What the stream itself throws becomes a BeckonError, and what a reader throws does not. */
async function* readable<T>(stream: AsyncIterable<T>): AsyncGenerator<T> {
  const frames = stream[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await frames.next().catch((e: unknown) => { throw BeckonError.from(e); });
      if (next.done) return;
      yield next.value;
    }
  } finally {
    // Not waited for: a dead connection would never say that it has ended.
    void frames.return?.().catch(() => undefined);
  }
}

/** Aborts one thing with another, until what is returned is called. Not every platform has AbortSignal.any. */
function linked(one: AbortController, other: AbortSignal): () => void {
  const abort = (): void => one.abort();
  if (other.aborted) abort();
  other.addEventListener("abort", abort);
  return () => other.removeEventListener("abort", abort);
}
