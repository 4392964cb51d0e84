/** The parts of seeing, one by one, for tests in a real browser. */

import { Look } from "../src/look";
import { nameOf } from "../src/names";
import { outlineOf, read } from "../src/outline";
import { pageStateOf } from "../src/page-state";
import { Refs } from "../src/refs";
import { isControl, roleOf } from "../src/roles";
import { coveredBy, isDisabled, isVisible } from "../src/visible";

const seeing = {
  nameOf,
  roleOf,
  isControl,
  isVisible,
  isDisabled,
  coveredBy,
  outlineOf,
  read,
  pageStateOf,
  Look,
  Refs,
};

Object.assign(globalThis, { seeing });
