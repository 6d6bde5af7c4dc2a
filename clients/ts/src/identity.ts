import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Tokens } from "../gen/beckon/v1/pairing_pb.js";
import type { RefreshTokenResponse } from "../gen/beckon/v1/token_pb.js";
import { signRefresh } from "./proof.js";

/** Identity is one installation: who it is, and what it shows that with. */
export interface Identity {
  readonly serverId: string;
  readonly account: string;
  readonly installation: string;
  readonly key: CryptoKeyPair;
  readonly refreshToken: string;
  readonly accessToken: string;
  /** End of the access token, in milliseconds since 1970, by the server's clock. */
  readonly accessEnd: number;
  /** Name of an exchange whose answer is not stored yet; empty where none runs. */
  readonly attempt: string;
}

/** IdentityStore keeps the identity of this device. */
export interface IdentityStore {
  /** The identity as it was last saved. */
  load(): Promise<Identity>;
  /** Resolves once it would survive the end of the program. */
  save(identity: Identity): Promise<void>;
  /** Runs one at a time, over all programs that share the store. */
  lock<T>(run: () => Promise<T>): Promise<T>;
}

/** An identity that ends with the program. */
export class MemoryIdentity implements IdentityStore {
  #held: Identity;
  #last: Promise<unknown> = Promise.resolve();

  constructor(identity: Identity) { this.#held = identity; }
  load(): Promise<Identity> { return Promise.resolve(this.#held); }
  save(identity: Identity): Promise<void> {
    this.#held = identity;
    return Promise.resolve();
  }
  lock<T>(run: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(run);
    this.#last = mine.catch(() => undefined);
    return mine;
  }
}

/** The tokens of an identity are these from now on. */
export function withTokens(identity: Identity, tokens: Tokens | undefined): Identity {
  return {
    ...identity,
    refreshToken: tokens?.refreshToken ?? "",
    accessToken: tokens?.accessToken ?? "",
    accessEnd: tokens?.accessExpireTime ? timestampMs(tokens.accessExpireTime) : 0,
    attempt: "",
  };
}

/** A token is renewed this long before its end, so that it is still good when it is read. */
const early = 30_000;

type Exchange = (request: { refreshToken: string; attempt: string; proof: Uint8Array<ArrayBuffer> }) => Promise<RefreshTokenResponse>;

/** TokenSource keeps the access token of an identity good. */
export class TokenSource {
  readonly #store: IdentityStore;
  readonly #exchange: Exchange;
  /** A token that had ended when it came: this device's clock is wrong, the server's word counts. */
  #skewed = "";

  constructor(store: IdentityStore, exchange: Exchange) {
    this.#store = store;
    this.#exchange = exchange;
  }

  /** The token to send. */
  async token(): Promise<string> {
    const held = await this.#store.load();
    return this.#fresh(held, "") ? held.accessToken : this.#renew("");
  }

  /** Hears that a token was refused, and reports whether there is another one now. */
  async refused(token: string): Promise<boolean> {
    const next = await this.#renew(token);
    return next !== "" && next !== token;
  }

  #fresh(i: Identity, refused: string): boolean {
    if (i.accessToken === "" || i.accessToken === refused) return false;
    return i.accessToken === this.#skewed || i.accessEnd - Date.now() > early;
  }

  /**
   * Under the lock it looks first whether somebody was faster. The attempt is
   * stored before it is sent and stays until its answer is, so an exchange that
   * was cut anywhere is the same exchange when it is tried again, and never
   * looks like a theft.
   */
  #renew(refused: string): Promise<string> {
    return this.#store.lock(async () => {
      let held = await this.#store.load();
      if (this.#fresh(held, refused)) return held.accessToken;
      if (held.attempt === "") {
        held = { ...held, attempt: crypto.randomUUID() };
        await this.#store.save(held);
      }
      const proof = await signRefresh(held.key.privateKey, held);
      const { tokens } = await this.#exchange({ refreshToken: held.refreshToken, attempt: held.attempt, proof });
      held = withTokens(held, tokens);
      await this.#store.save(held);
      if (!this.#fresh(held, "")) this.#skewed = held.accessToken;
      return held.accessToken;
    });
  }
}
