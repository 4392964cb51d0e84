/** Files that go with a prompt: which ones may, and how they are written. The server checks the same. */

import type { AttachmentBody, RunBody } from "@pollux/protocol";

export interface Picked {
  readonly id: number;
  readonly file: File;
  readonly name: string;
  readonly mimeType: string;
}

export const MOST_FILES = 8;
export const LARGEST_FILE = 5 << 20;
export const LARGEST_IN_ALL = 8 << 20;
const LONGEST_NAME = 200;

/** By how a file's name ends: browsers know the types of some, and by other names. */
const TYPES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  pdf: "application/pdf",
  txt: "text/plain",
  log: "text/plain",
  md: "text/markdown",
  markdown: "text/markdown",
  csv: "text/csv",
  html: "text/html",
  htm: "text/html",
  json: "application/json",
};
const TAKEN = new Set(Object.values(TYPES));

/** For the browser's own choice of files. */
export const ACCEPTED = [...TAKEN, ...Object.keys(TYPES).map((ending) => `.${ending}`)].join(",");
export const BOUNDS = `Up to ${MOST_FILES} files: images, PDF, text, CSV, JSON. ${sizeOf(LARGEST_FILE)} each, ${sizeOf(LARGEST_IN_ALL)} in all.`;

/** Those that may be added to the ones there are, and what is to be said of the others. */
export function picked(
  before: readonly Picked[],
  files: readonly File[],
): { readonly all: readonly Picked[]; readonly refused: readonly string[] } {
  const all = [...before];
  const refused: string[] = [];
  for (const file of files) {
    const why = objection(file, all);
    if (why) refused.push(`${named(file)} ${why}`);
    else all.push({ id: nextId++, file, name: named(file), mimeType: typeOf(file) });
  }
  return { all, refused };
}

let nextId = 1;

/** The files as they are sent. Throws where one cannot be read. */
export async function written(files: readonly Picked[]): Promise<Pick<RunBody, "attachments">> {
  if (files.length === 0) return {};
  // Its type has each number of them by itself.
  return { attachments: (await Promise.all(files.map(one))) as NonNullable<RunBody["attachments"]> };
}

async function one({ file, name, mimeType }: Picked): Promise<AttachmentBody> {
  return { name, mimeType, data: await base64(file) };
}

export function isImage(mimeType: string): boolean {
  return /^image\/(png|jpeg|gif|webp)$/.test(mimeType);
}

/** `640 B`, `12 KB`, `3.4 MB`. */
export function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1 << 20) return `${Math.round(bytes / 1024)} KB`;
  const megabytes = bytes / (1 << 20);
  return `${Number.isInteger(megabytes) ? megabytes : megabytes.toFixed(1)} MB`;
}

function objection(file: File, before: readonly Picked[]): string {
  const sum = before.reduce((size, each) => size + each.file.size, 0);
  if (!typeOf(file)) return "is of a type that models do not take.";
  if (file.size === 0) return "is empty.";
  if (file.size > LARGEST_FILE) return `has ${sizeOf(file.size)}; one file may have ${sizeOf(LARGEST_FILE)}.`;
  if (before.length >= MOST_FILES) return `is one too many; ${MOST_FILES} may go with a message.`;
  if (sum + file.size > LARGEST_IN_ALL)
    return `does not fit; all together may have ${sizeOf(LARGEST_IN_ALL)}.`;
  return "";
}

function typeOf(file: File): string {
  const type = file.type.split(";")[0]?.trim().toLowerCase() ?? "";
  if (TAKEN.has(type)) return type;
  const ending = /\.([a-z]+)$/i.exec(file.name)?.[1]?.toLowerCase() ?? "";
  return TYPES[ending] ?? "";
}

/** Its name, short enough to be sent, with its ending. */
function named({ name }: File): string {
  const characters = [...(name.replace(/\p{C}/gu, "") || "file")];
  if (characters.length <= LONGEST_NAME) return characters.join("");
  return `${characters.slice(0, LONGEST_NAME - 20).join("")}…${characters.slice(-19).join("")}`;
}

function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(`${reader.result}`.replace(/^[^,]*,/, ""));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
