import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { FollowOptions } from "../src/index.js";
import { anonymous, BeckonError, Follower, MemoryStore } from "../src/index.js";
import type { WatchResponseSchema } from "../src/v1.js";
import { ErrorInfoSchema, SyncService } from "../src/v1.js";
import { read, Server } from "./model.js";

type Frame = NonNullable<MessageInitShape<typeof WatchResponseSchema>["frame"]>;
const beat = 10_000;

/** One open stream; the test says what comes of it. */
class Stream {
  #frames: (Frame | Error | undefined)[] = [];
  #wake = (): void => undefined;
  closed = false;
  /** undefined ends it. */
  send(f: Frame | Error | undefined): void {
    this.#frames.push(f);
    this.#wake();
  }
  async *read(signal: AbortSignal): AsyncGenerator<{ frame: Frame }> {
    signal.addEventListener("abort", () => { this.closed = true; this.#wake(); });
    while (!this.closed) {
      if (this.#frames.length === 0) { await new Promise<void>((r) => { this.#wake = r; }); continue; }
      const f = this.#frames.shift();
      if (f === undefined) return;
      if (f instanceof Error) throw f;
      yield { frame: f };
    }
  }
}

const hello = (): Frame => ({ case: "hello", value: { beat: durationFromMs(beat) } });

/** A server that answers of the model; opened says what a new stream begins with. */
class Fake {
  model = new Server();
  streams: Stream[] = [];
  openedAt: number[] = [];
  bootstraps = 0;
  pulls: number[] = [];
  resets = false;
  opened: (s: Stream, cursor: Uint8Array, horizon: Uint8Array) => void = (s, cursor, horizon) => {
    s.send(hello());
    s.send(this.changes(cursor, horizon));
    s.send({ case: "caughtUp", value: {} });
  };
  refusal: ConnectError | undefined;

  changes(cursor: Uint8Array, horizon: Uint8Array): Frame {
    const page = this.resets ? undefined : this.model.pull(cursor, horizon, 1000);
    return { case: "delta", value: { result: page ? { case: "changes", value: page as never } : { case: "reset", value: {} } } };
  }

  transport = anonymous(createRouterTransport(({ service }) => {
    service(SyncService, {
      bootstrap: ({ page }) => {
        if (this.refusal) throw this.refusal;
        this.bootstraps++;
        const p = this.model.bootstrap(page, 2);
        if (p) return p as never;
        throw new ConnectError("page", Code.InvalidArgument, undefined, [{ desc: ErrorInfoSchema, value: create(ErrorInfoSchema, { reason: "INVALID", field: "page" }) }]);
      },
      pull: ({ at: [at], wait }) => {
        this.pulls.push(Number(wait?.seconds ?? 0n));
        const answer = () => ({ deltas: [this.changes(at?.cursor ?? new Uint8Array(), at?.horizon ?? new Uint8Array()).value as never] });
        const ms = Number(wait?.seconds ?? 0n) * 1000;
        return ms === 0 ? answer() : new Promise((r) => { setTimeout(() => r(answer()), ms); });
      },
      watch: ({ at: [at] }, { signal }) => {
        const s = new Stream();
        this.streams.push(s);
        this.openedAt.push(Date.now());
        this.opened(s, at?.cursor ?? new Uint8Array(), at?.horizon ?? new Uint8Array());
        return s.read(signal) as never;
      },
    });
  }));
}

let fake: Fake;
let told: string[][];
let troubles: (string | undefined)[];
let stop: AbortController;
let store: MemoryStore;
let ended: Promise<unknown>;

beforeEach(() => {
  vi.useFakeTimers();
  [fake, told, troubles, stop, store] = [new Fake(), [], [], new AbortController(), new MemoryStore()];
  for (const id of "abc") fake.model.write({ kind: 1, id });
});

afterEach(async () => {
  stop.abort();
  await vi.advanceTimersByTimeAsync(1);
  await ended;
  await vi.advanceTimersByTimeAsync(60_000); // what the server was waiting for
  const left = vi.getTimerCount();
  vi.useRealTimers();
  expect(left, "timers left behind").toBe(0);
});

async function follow(o: Partial<FollowOptions> = {}): Promise<Follower> {
  const f = new Follower({
    transport: fake.transport, store, random: () => 0.5,
    onChange: (v) => told.push(v.all().map((e) => `${e.kind}/${e.id}=${read(e.body)}`)),
    onTrouble: (t) => troubles.push(t?.message), ...o,
  });
  ended = f.run(stop.signal).catch((e: unknown) => e);
  await vi.advanceTimersByTimeAsync(1);
  return f;
}

const last = (): Stream => fake.streams.at(-1) as Stream;

test("bootstrap, stream, caught up; then each change is told at once", async () => {
  const f = await follow();
  expect(told).toEqual([fake.model.live()]);
  expect(fake.bootstraps).toBeGreaterThan(1); // pages
  fake.model.write({ kind: 1, id: "d" });
  last().send(fake.changes(f.view.cursor, f.view.horizon));
  await vi.advanceTimersByTimeAsync(1);
  expect(told).toHaveLength(2);
  expect(told[1]).toEqual(fake.model.live());
});

test("a restarted program goes on where it was stored, with no bootstrap", async () => {
  await follow();
  stop.abort();
  await vi.advanceTimersByTimeAsync(1);
  const before = fake.bootstraps;
  stop = new AbortController();
  fake.model.remove({ kind: 1, id: "a" });
  await follow();
  expect(fake.bootstraps).toBe(before);
  expect(told.at(-1)).toEqual(fake.model.live());
});

test("a stream that was silent for 2.2 beats is dropped, and not before", async () => {
  await follow();
  await vi.advanceTimersByTimeAsync(2.2 * beat - 10);
  expect(fake.streams).toHaveLength(1);
  expect(last().closed).toBe(false);
  await vi.advanceTimersByTimeAsync(300);
  expect(fake.streams[0]?.closed).toBe(true);
  expect(fake.streams).toHaveLength(2);
});

test("a heartbeat keeps a stream; one that tells another cursor makes a pull and a new stream", async () => {
  const f = await follow();
  await vi.advanceTimersByTimeAsync(2 * beat);
  last().send({ case: "heartbeat", value: { sent: [{ cursor: f.view.cursor as never }] } });
  await vi.advanceTimersByTimeAsync(2 * beat);
  expect(fake.streams).toHaveLength(1);
  expect(fake.pulls).toHaveLength(0);
  fake.model.write({ kind: 1, id: "lost" }); // its frame never came
  last().send({ case: "heartbeat", value: { sent: [{ cursor: new Uint8Array([1]) }] } });
  await vi.advanceTimersByTimeAsync(1);
  expect(fake.pulls).toHaveLength(1);
  expect(told.at(-1)).toEqual(fake.model.live());
  expect(fake.streams).toHaveLength(2);
});

test("where no hello comes in 5 s it polls, and tries a stream again after 10 minutes", async () => {
  fake.opened = () => undefined;
  await follow();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(told).toEqual([fake.model.live()]);
  expect(fake.streams).toHaveLength(1);
  expect(fake.streams[0]?.closed).toBe(true);
  expect(fake.pulls.slice(0, 2)).toEqual([0, 25]); // what is there is told first
  await vi.advanceTimersByTimeAsync(590_000);
  expect(fake.streams).toHaveLength(1);
  fake.model.write({ kind: 1, id: "d" });
  await vi.advanceTimersByTimeAsync(25_000);
  expect(told.at(-1)).toEqual(fake.model.live());
  expect(fake.streams).toHaveLength(2);
});

test("three streams in a row that end before a heartbeat make it poll", async () => {
  fake.opened = (s) => { s.send(hello()); s.send(undefined); };
  await follow();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(fake.streams).toHaveLength(3);
  expect(fake.pulls.length).toBeGreaterThan(0);
});

test("a goaway is no failure: it comes back within the window", async () => {
  await follow();
  const at = Date.now();
  last().send({ case: "goaway", value: { reconnectMin: durationFromMs(1_000), reconnectMax: durationFromMs(3_000) } });
  await vi.advanceTimersByTimeAsync(2_500);
  expect(fake.openedAt[1]).toBeGreaterThanOrEqual(at + 2_000);
  expect(fake.openedAt[1]).toBeLessThan(at + 2_010);
  expect(troubles).toEqual([]);
});

test("the waits between tries double up to a minute, and trouble is told once and taken back", async () => {
  const good = fake.opened;
  fake.opened = (s) => s.send(new ConnectError("gone", Code.Unavailable, undefined, undefined, new TypeError("fetch failed")));
  vi.spyOn(BeckonError, "from").mockImplementation((cause) => new BeckonError("away", { code: Code.Unavailable, reason: "UNREACHABLE", cause }));
  await follow({ random: () => 0.999 });
  await vi.advanceTimersByTimeAsync(300_000);
  vi.restoreAllMocks();
  const gaps = fake.openedAt.slice(1).map((t, i) => Math.round((t - (fake.openedAt[i] ?? 0)) / 500) * 500);
  expect(gaps.slice(0, 9)).toEqual([500, 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000]);
  expect(troubles).toEqual(["away"]);
  fake.opened = good;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(troubles).toEqual(["away", undefined]);
});

test("a server that always resets is bootstrapped at most once a minute, and the person hears of it", async () => {
  fake.resets = true;
  await follow();
  const pages = fake.bootstraps;
  await vi.advanceTimersByTimeAsync(600_000);
  expect(fake.streams.length).toBeGreaterThan(5);
  expect(fake.streams.length).toBeLessThanOrEqual(12);
  expect(fake.bootstraps).toBeLessThanOrEqual(12 * pages);
  expect(troubles).toEqual(["the server resets again and again"]);
});

test("one reset is acted on at once, and the screen is not blanked", async () => {
  const f = await follow();
  last().send({ case: "delta", value: { result: { case: "reset", value: {} } } });
  await vi.advanceTimersByTimeAsync(1);
  expect(told).toHaveLength(2);
  expect(f.view.size).toBe(3);
  expect(troubles).toEqual([]);
});

test("wake drops the stream without asking and reads at once", async () => {
  const f = await follow();
  fake.model.write({ kind: 1, id: "d" });
  f.wake();
  await vi.advanceTimersByTimeAsync(1);
  expect(fake.streams).toHaveLength(2);
  expect(fake.streams[0]?.closed).toBe(true);
  expect(told.at(-1)).toEqual(fake.model.live());
});

test("what would be refused again ends it, and so does an error of onChange", async () => {
  fake.refusal = new ConnectError("no", Code.PermissionDenied);
  await follow();
  expect(await ended).toMatchObject({ name: "BeckonError", code: Code.PermissionDenied });
  fake.refusal = undefined;
  await follow({ onChange: () => { throw new RangeError("mine"); } });
  expect(await ended).toBeInstanceOf(RangeError);
});
