// Proofs of an installation, as PROTOCOL.md section 5 has them: ES256 over
// a tuple of length-prefixed fields. The private key cannot be read, not even by
// this program; a browser keeps it in IndexedDB as it is.

const encoder = new TextEncoder();

/** A new key of an installation. Its private half never leaves the device. */
export async function newKey(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign", "verify"]);
}

/** The public half as the wire has it: 65 bytes, uncompressed. */
export async function publicKey(key: CryptoKeyPair): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.exportKey("raw", key.publicKey));
}

/** What is signed to exchange a refresh token. */
export interface Refresh {
  readonly serverId: string;
  readonly account: string;
  readonly installation: string;
  readonly refreshToken: string;
  readonly attempt: string;
}

/** The bytes that a proof of a refresh is over. */
export async function refreshTuple(r: Refresh): Promise<Uint8Array<ArrayBuffer>> {
  return refreshFields(r, new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(r.refreshToken))));
}

/** The same where the SHA-256 of the token is known. */
export function refreshFields(r: Omit<Refresh, "refreshToken">, tokenHash: Uint8Array): Uint8Array<ArrayBuffer> {
  return tuple(["beckon/refresh/1", r.serverId, r.account, r.installation, tokenHash, r.attempt]);
}

/** The proof of a refresh: 64 bytes, r and s. */
export async function signRefresh(key: CryptoKey, r: Refresh): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, key, await refreshTuple(r)));
}

function tuple(fields: (string | Uint8Array)[]): Uint8Array<ArrayBuffer> {
  const all = fields.map((f) => typeof f === "string" ? encoder.encode(f) : f);
  const out = new Uint8Array(all.reduce((n, f) => n + 4 + f.length, 0));
  const view = new DataView(out.buffer);
  let at = 0;
  for (const f of all) {
    view.setUint32(at, f.length);
    out.set(f, at + 4);
    at += 4 + f.length;
  }
  return out;
}
