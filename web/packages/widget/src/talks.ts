/**
 * Whose conversation a chat shows. It is one person's with one agent in one place of the page, and nobody else's: who
 * signs in or out finds nothing of the one before.
 */

import { type Conversation, createConversation, type PagePort, type Shelf, subjectOf } from "@pollux/client";

/** What a conversation is shown in. */
export interface Place {
  readonly id: string;
  readonly isConnected: boolean;
}

interface Talk {
  readonly place: string;
  readonly who: string;
  readonly conversation: Conversation;
  /** As the page last gave it. */
  token: string;
}

interface Options {
  readonly base: string;
  readonly page: PagePort;
  readonly shelf: Storage | null;
}

export class Talks<Chat extends Place> {
  readonly #options: Options;
  #talks: readonly Talk[] = [];
  readonly #places = new Map<string, Chat>();

  constructor(options: Options) {
    this.#options = options;
  }

  /** The chats that are or were in the page. */
  get chats(): readonly Chat[] {
    return [...this.#places.values()];
  }

  /** The conversation of whoever this token names, in this chat. */
  of(chat: Chat, profile: string, token: string): Conversation {
    const place = this.#placeOf(chat, profile);
    const who = subjectOf(token);
    for (const talk of this.#talks) if (talk.place === place && talk.who !== who) this.#leave(talk, who);
    const known = this.#talks.find((talk) => talk.place === place && talk.who === who);
    if (known) {
      known.token = token;
      return known.conversation;
    }
    const talk = this.#begun(place, profile, token);
    this.#talks = [...this.#talks, talk];
    return talk.conversation;
  }

  /** What is on the shelf is newer than what is known here. */
  forget(): void {
    this.#talks = [];
  }

  /**
   * Leave off for somebody else, here and at the server. What a person said waits for them while nobody is named, as
   * between two tokens; whoever is named next is another one, and then nothing of it is left.
   */
  #leave(talk: Talk, next: string): void {
    if (!next) return void talk.conversation.stop();
    talk.conversation.clear();
    this.#talks = this.#talks.filter((each) => each !== talk);
  }

  /** The first free one of its name: an element that took the place of another goes on where that was. */
  #placeOf(chat: Chat, profile: string): string {
    for (let number = 1; ; number++) {
      const place = `${profile}${chat.id && ` #${chat.id}`}${number > 1 ? ` ${number}` : ""}`;
      const holder = this.#places.get(place);
      if (holder?.isConnected && holder !== chat) continue;
      this.#places.set(place, chat);
      return place;
    }
  }

  #begun(place: string, profile: string, token: string): Talk {
    const { base, page, shelf } = this.#options;
    const who = subjectOf(token);
    if (shelf && who) sweep(shelf, base, who);
    const given = { place, who, token };
    const conversation = createConversation({
      base,
      page,
      ...(profile && { profile }),
      // Asked for whenever a session begins: by then the page may have renewed it.
      get userToken() {
        return given.token;
      },
      ...(shelf && { shelf: shelfAt(place.slice(profile.length), shelf) }),
    });
    return Object.assign(given, { conversation });
  }
}

/** Take away what others left in this tab. What nobody signed in for stays: the page may tell later who is there. */
function sweep(shelf: Storage, base: string, who: string): void {
  for (const key of Object.keys(shelf)) {
    const owner = key.startsWith(`pollux ${base} `) && ownerOf(shelf.getItem(key));
    if (owner && owner !== who) shelf.removeItem(key);
  }
}

function ownerOf(record: string | null): unknown {
  try {
    return JSON.parse(record ?? "null")?.who;
  } catch {
    return null;
  }
}

/** The same shelf, with a corner for each place. */
function shelfAt(place: string, shelf: Shelf): Shelf {
  return {
    getItem: (key) => shelf.getItem(key + place),
    setItem: (key, value) => shelf.setItem(key + place, value),
    removeItem: (key) => shelf.removeItem(key + place),
  };
}
