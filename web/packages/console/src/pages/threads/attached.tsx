/** Files beside what was said: those about to be sent, and those that were. */

import type { AttachmentView } from "@pollux/protocol";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Icon } from "../../parts/icon";
import { isImage, type Picked, sizeOf } from "./files";

/** Those that will go with the message. */
export function PickedFiles({
  files,
  onRemove,
}: {
  files: readonly Picked[];
  onRemove: (id: number) => void;
}): VNode | null {
  if (files.length === 0) return null;
  return (
    <ul class="files" aria-label="Files to send">
      {files.map((each) => (
        <li key={each.id}>
          {isImage(each.mimeType) ? <Thumbnail file={each.file} /> : <Icon name="runbooks" />}
          <span class="name" dir="auto">
            {each.name}
          </span>
          <span class="faint">{sizeOf(each.file.size)}</span>
          <button type="button" class="plain" onClick={() => onRemove(each.id)}>
            <Icon name="close" />
            <span class="unseen">Remove {each.name}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function Thumbnail({ file }: { file: File }): VNode | null {
  const [url, setUrl] = useState("");
  useEffect(() => {
    const made = URL.createObjectURL(file);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  return url ? <img src={url} alt="" /> : null;
}

/** Those that came with a message of this conversation. */
export function SentFiles({
  files,
  threadId,
}: {
  files: readonly AttachmentView[];
  threadId: string;
}): VNode | null {
  if (files.length === 0) return null;
  return (
    <ul class="files sent" aria-label="Attached">
      {files.map((file) => (
        <li key={file.id}>
          <SentFile file={file} threadId={threadId} />
        </li>
      ))}
    </ul>
  );
}

function SentFile({ file, threadId }: { file: AttachmentView; threadId: string }): VNode {
  const { id, mimeType, size } = file;
  const name = file.name || mimeType;
  // Before the server has named it, or where only the provider has its bytes, there is nothing to open.
  const href = id && size !== null && fileAt(threadId, id);
  if (!href)
    return (
      <span class="file">
        <Icon name="runbooks" />
        <span class="name">{name}</span>
      </span>
    );
  return (
    <a class="file" href={href} target="_blank" rel="noreferrer">
      {isImage(mimeType) ? <img src={href} alt="" /> : <Icon name="runbooks" />}
      <span class="name" dir="auto">
        {name}
      </span>
      <span class="faint">{sizeOf(size ?? 0)}</span>
    </a>
  );
}

function fileAt(threadId: string, id: string): string {
  return `/api/agent/threads/${encodeURIComponent(threadId)}/attachments/${encodeURIComponent(id)}`;
}
