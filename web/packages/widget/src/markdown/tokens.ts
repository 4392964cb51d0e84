/** What Markdown is made of, once it is read. HTML is none of it: tags are text. */

export type Inline =
  | string
  | { readonly type: "strong" | "em" | "del"; readonly children: readonly Inline[] }
  | { readonly type: "code"; readonly text: string }
  | {
      readonly type: "link";
      readonly address: string;
      /** As it was written. */
      readonly text: string;
      readonly children: readonly Inline[];
    }
  | { readonly type: "image"; readonly text: string };

export type Align = "left" | "right" | "center" | "";

export interface Item {
  readonly blocks: readonly Shape[];
  /** Of a task: whether it is done. */
  readonly isDone?: boolean;
}

export type Shape =
  | { readonly type: "paragraph"; readonly children: readonly Inline[] }
  | { readonly type: "heading"; readonly depth: number; readonly children: readonly Inline[] }
  | { readonly type: "code"; readonly language: string; readonly text: string }
  | { readonly type: "quote"; readonly blocks: readonly Shape[] }
  | {
      readonly type: "list";
      readonly start: number | null;
      readonly isTight: boolean;
      readonly items: readonly Item[];
    }
  | {
      readonly type: "table";
      readonly align: readonly Align[];
      readonly header: readonly (readonly Inline[])[];
      readonly rows: readonly (readonly (readonly Inline[])[])[];
    }
  | { readonly type: "rule" }
  /** Shown as it was written. */
  | { readonly type: "plain"; readonly text: string }
  /** Says where links lead, and shows nothing. */
  | { readonly type: "definition" };

/** A block and what it was read from: the blocks of a text, one after another, are the text. */
export type Block = Shape & { readonly raw: string };

/** Where the links lead that are only named, by their names in lower case. */
export type References = ReadonlyMap<string, string>;

/** Names of references are the same whatever their case and white space. */
export function nameOf(label: string): string {
  return label.trim().replace(/\s+/g, " ").toLowerCase();
}
