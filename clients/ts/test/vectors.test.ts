import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Entity, Snapshot } from "../src/view.js";
import { View } from "../src/view.js";

interface EntityText { kind: number; id: string; version: number; body?: string }
interface Move {
  do: "bootstrap" | "changes" | "point" | "reset" | "store" | "kill" | "check";
  asked?: string;
  horizon?: string;
  page?: { put?: EntityText[]; del?: EntityText[]; page?: string; cursor?: string; complete?: boolean; as_of: string; epoch: string };
  applied?: boolean;
  view?: {
    entities?: EntityText[]; cursor?: string; horizon?: string; epoch?: string;
    bootstrapping?: boolean; page?: string; deleted?: EntityText[];
  };
}

// What the Go fold has made of these programs, this one has to make of them.
const file = new URL("../../../sync/replica/testdata/programs.json", import.meta.url);
const programs = JSON.parse(readFileSync(file, "utf8")) as { world: number; steps: Move[] }[];

const bytes = (base64 = ""): Uint8Array => Uint8Array.from(Buffer.from(base64, "base64"));
const base64 = (b: Uint8Array): string => Buffer.from(b).toString("base64");
const entity = (e: EntityText): Entity => ({ kind: e.kind, id: e.id, version: BigInt(e.version), body: bytes(e.body) });
const entities = (all: EntityText[] = []): Entity[] => all.map(entity);

function apply(view: View, m: Move): boolean {
  const p = m.page;
  const put = entities(p?.put);
  const stamp = { asOf: bytes(p?.as_of), epoch: bytes(p?.epoch) };
  switch (m.do) {
    case "bootstrap":
      return view.applyBootstrap(bytes(m.asked), { put, page: bytes(p?.page), cursor: bytes(p?.cursor), complete: p?.complete ?? false, ...stamp });
    case "changes":
      return view.applyChanges(bytes(m.asked), bytes(m.horizon), { put, del: entities(p?.del), next: bytes(p?.cursor), ...stamp });
    case "point":
      return view.applyPoint({ put, ...stamp });
    default:
      return view.applyReset(bytes(m.asked));
  }
}

function written(s: Snapshot): Required<NonNullable<Move["view"]>> {
  const plain = (e: { kind: number; id: string; version: bigint }) => ({ kind: e.kind, id: e.id, version: Number(e.version) });
  return {
    entities: s.entities.map((e) => ({ ...plain(e), body: base64(e.body) })),
    cursor: base64(s.cursor), horizon: base64(s.horizon), epoch: base64(s.epoch),
    bootstrapping: s.bootstrapping, page: base64(s.page), deleted: s.deleted.map(plain),
  };
}

test.each(programs)("world $world comes to the view of the Go fold, byte for byte", ({ steps }) => {
  let view = new View();
  let stored = view.snapshot();
  for (const [i, m] of steps.entries()) {
    if (m.do === "store") stored = view.snapshot();
    else if (m.do === "kill") view = new View(stored);
    else if (m.do === "check") {
      const nothing = { entities: [], cursor: "", horizon: "", epoch: "", bootstrapping: false, page: "", deleted: [] };
      expect(written(view.snapshot()), `step ${i}`).toEqual({ ...nothing, ...m.view });
    } else expect(apply(view, m), `step ${i}, ${m.do}`).toBe(m.applied ?? false);
  }
});
