/** What a browser and the server say to one another, as types. All of them come from the server's own schema. */

export type * from "./generated";
