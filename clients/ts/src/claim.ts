import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import { createClient } from "@connectrpc/connect";
import type { NewInstallationSchema } from "../gen/beckon/v1/installation_pb.js";
import { PairingService } from "../gen/beckon/v1/pairing_pb.js";
import type { Identity } from "./identity.js";
import { withTokens } from "./identity.js";
import { newKey, publicKey } from "./proof.js";
import { anonymous, webTransport } from "./transport.js";

/** What a new installation says of itself. */
export type Device = Pick<MessageInitShape<typeof NewInstallationSchema>, "platform" | "label" | "appId" | "locale">;

/** Takes the link that a server prints apart into its base URL and the one-use secret. */
export function parseClaimLink(link: string): { server: string; secret: string } {
  const [base = "", secret = ""] = link.trim().split("#");
  const server = base.replace(/\/claim\/?$/, "");
  if (secret === "" || server === base) throw new TypeError("not a claim link: it looks like https://server/claim#bk_own_…");
  return { server, secret };
}

/**
 * Makes this device the first installation of the account behind a claim link.
 * A link is good once: store the identity before anything else. After an error
 * of the network nobody can say whether it was spent. Throws a BeckonError.
 */
export async function claim(link: string, device: Device, transport?: Transport): Promise<Identity> {
  const { server, secret } = parseClaimLink(link);
  const key = await newKey();
  const pairing = createClient(PairingService, anonymous(transport ?? webTransport(server)));
  const res = await pairing.claimServer({ secret, installation: { ...device, publicKey: await publicKey(key) } });
  const { serverId, accountId: account } = res;
  const joined = { serverId, account, installation: res.installation?.id ?? "", key, refreshToken: "", accessToken: "", accessEnd: 0, attempt: "" };
  return withTokens(joined, res.tokens);
}
