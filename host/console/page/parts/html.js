// Elements of the page. Text always becomes text nodes: nothing here parses markup.

import { h } from "../vendor/preact.js";
import htm from "../vendor/htm.js";

/** Makes elements from a template. */
export const html = htm.bind(h);

export { Component, createContext, render } from "../vendor/preact.js";
export { useCallback, useEffect, useId, useLayoutEffect, useMemo, useReducer, useRef, useState } from "../vendor/hooks.js";
