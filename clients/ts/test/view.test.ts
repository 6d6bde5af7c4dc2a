import { expect, test } from "vitest";
import type { BootstrapPage, ChangesPage, Key, Point, Snapshot } from "../src/view.js";
import { View } from "../src/view.js";
import { random, read, Server } from "./model.js";

/** WORLDS is how many random worlds are played, WORLDS_FROM the first one. */
const worlds = Number(process.env["WORLDS"] ?? 1500);
const first = Number(process.env["WORLDS_FROM"] ?? 0);

type Answer =
  | { kind: "page"; asked: Uint8Array; page: BootstrapPage | undefined }
  | { kind: "changes"; asked: Uint8Array; horizon: Uint8Array; page: (ChangesPage & { more: boolean }) | undefined }
  | { kind: "point"; point: Point };

/** A server, one client and the network between them, which loses, repeats and reorders. */
class World {
  server = new Server();
  view = new View();
  stored: Snapshot = this.view.snapshot();
  backup: Server | undefined;
  flying: Answer[] = [];

  step(op: number, draw: (n: number) => number): void {
    const key = (): Key => ({ kind: 7 + draw(2), id: "abcd".charAt(draw(4)) });
    const pick = (remove: boolean): Answer | undefined => {
      if (this.flying.length === 0) return undefined;
      const i = draw(this.flying.length);
      return remove ? this.flying.splice(i, 1)[0] : this.flying[i];
    };
    switch (op) {
      case 0: case 1: case 2: return this.server.write(key());
      case 3: return this.server.remove(key());
      case 4: return this.server.purge([2, 5, 10][draw(3)] ?? 2);
      case 5: this.backup = this.server.backup(); return;
      case 6: if (this.backup) this.server.restore(this.backup); return;
      case 7: case 8: return this.askPage(1 + draw(3));
      case 9: case 10: case 11: return this.askChanges(1 + draw(3));
      case 12: this.flying.push({ kind: "point", point: this.server.point(key()) }); return;
      case 13: case 14: case 15: case 16: { const a = pick(true); if (a) this.deliver(a); return; }
      case 17: { const a = pick(false); if (a) this.deliver(a); return; }
      case 18: pick(true); return;
      case 19: this.stored = this.view.snapshot(); return;
      default: this.view = new View(this.stored); return;
    }
  }

  askPage(limit: number): void {
    if (!this.view.bootstrapping) return;
    const asked = this.view.page;
    this.flying.push({ kind: "page", asked, page: this.server.bootstrap(asked, limit) });
  }

  askChanges(limit: number): void {
    const { cursor, horizon } = this.view;
    if (cursor.length === 0) return;
    this.flying.push({ kind: "changes", asked: cursor, horizon, page: this.server.pull(cursor, horizon, limit) });
  }

  /** Applies an answer; nothing dropped leaves a trace, and steps tell all. */
  deliver(a: Answer): void {
    const before = this.view.snapshot();
    this.view.take();
    if (!this.#apply(a)) {
      if (!same(before, this.view.snapshot())) throw new Error("a dropped answer left a trace");
      return;
    }
    // A store that is given the steps holds what the view holds.
    const step = this.view.take();
    const held = new Map(before.entities.map((e) => [`${e.kind}/${e.id}`, e]));
    for (const k of step.del) held.delete(`${k.kind}/${k.id}`);
    for (const e of step.put) held.set(`${e.kind}/${e.id}`, e);
    const opened = new View({ ...step.place, entities: [...held.values()] });
    if (!same(opened.snapshot(), this.view.snapshot())) throw new Error("a step does not tell all that changed");
    if (a.kind !== "changes" && before.cursor.length > 0 && this.view.cursor.length > 0 && read(before.cursor) !== read(this.view.cursor)) {
      throw new Error("the cursor moved without a page of changes");
    }
  }

  #apply(a: Answer): boolean {
    switch (a.kind) {
      case "point": return this.view.applyPoint(a.point);
      case "page": return a.page ? this.view.applyBootstrap(a.asked, a.page) : this.view.applyReset(a.asked);
      case "changes": return a.page ? this.view.applyChanges(a.asked, a.horizon, a.page) : this.view.applyReset(a.asked);
    }
  }

  /** Stops the faults and reads until nothing is left to read. */
  settle(): void {
    for (let i = 0; i < 200; i++) {
      this.flying = [];
      if (this.view.bootstrapping) this.askPage(3);
      else this.askChanges(3);
      const [a] = this.flying;
      if (!a) throw new Error("nothing was asked");
      this.deliver(a);
      if (a.kind !== "changes" || !a.page || a.page.more) continue;
      const shown = this.view.all().map((e) => `${e.kind}/${e.id}=${read(e.body)}`);
      if (String(shown) !== String(this.server.live())) {
        throw new Error(`view differs from a fresh read: server ${this.server.live()}, view ${shown}`);
      }
      return;
    }
    throw new Error("the view did not come to rest");
  }
}

/** A view keeps what it was given, so what is the same is the very same. */
function same(a: Snapshot, b: Snapshot): boolean {
  return a.cursor === b.cursor && a.horizon === b.horizon && a.epoch === b.epoch && a.page === b.page
    && a.bootstrapping === b.bootstrapping && each(a.entities, b.entities) && each(a.deleted, b.deleted);
}

function each<T>(a: readonly T[], b: readonly T[]): boolean { return a.length === b.length && a.every((x, i) => x === b[i]); }

// What R25 says of resets: whatever writes, purges, restores, crashes and
// a faulty network do, the view ends equal to a fresh read.
test("R25 a view equals a fresh read after faults, page splits, restores and crashes", () => {
  for (let seed = first; seed < first + worlds; seed++) {
    const draw = random(seed);
    const world = new World();
    try {
      for (let n = draw(300); n > 0; n--) world.step(draw(21), draw);
      world.settle();
    } catch (cause) {
      throw new Error(`world ${seed} (WORLDS_FROM=${seed} WORLDS=1)`, { cause });
    }
  }
});

test("a view that was stored without a cursor bootstraps", () => {
  expect(new View({ ...new View().snapshot(), bootstrapping: false }).bootstrapping).toBe(true);
});
