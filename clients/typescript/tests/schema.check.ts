// Compares the types of the client with those that openapi-typescript makes of `/openapi.json`: compiles if they agree.

import type { Problem } from "../src/errors.js";
import type * as client from "../src/types.js";
import type { components } from "./schema.js";

type Schemas = components["schemas"];

/** A pair of types: every value of the first one can be read as the second one. */
type Agrees<Sent extends Read, Read> = [Sent, Read];

export type Checks = [
  Agrees<Schemas["Outcome"], client.Reply>,
  Agrees<Schemas["Part"], client.Part>,
  Agrees<client.Part["type"], Schemas["Part"]["type"]>,
  Agrees<Schemas["RunningCall"], client.RunningCall>,
  Agrees<Schemas["TombstoneCall"], Omit<client.TombstoneCall, "tombstone"> & { tombstone: boolean }>,
  Agrees<Schemas["ListedCall"], client.ListedCall>,
  Agrees<Schemas["Process"], client.Process>,
  Agrees<Schemas["ProcessDetails"], client.ProcessDetails>,
  Agrees<Schemas["Output"], client.Output>,
  Agrees<Schemas["Notice"], client.Notice>,
  Agrees<Schemas["FileEntry"], client.FileEntry>,
  Agrees<Schemas["FileLink"], client.Link>,
  Agrees<Schemas["Port"], client.Port>,
  Agrees<Schemas["Problem"], Problem>,
  // The description has the data of events as text.
  Agrees<Schemas["Event"]["event"], client.ChatEvent["type"]>,
  Agrees<client.ChatEvent["type"], Schemas["Event"]["event"]>,
];
