// The network of a test.

import { fake } from "./native.js";

export const send = async (request) => fake("http").send(request);
