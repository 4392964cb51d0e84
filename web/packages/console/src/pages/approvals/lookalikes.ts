/** Letters that are taken for others: “раypal” begins with two Cyrillic ones. Whoever reads names that way approves
another one than they think. */

const OTHERS =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}]/u;
const LATIN = /\p{Script=Latin}/u;
/** A whole word of these could be one in Latin letters. */
const TWINS = /^[асеорхуіјѕһԁԛԝӏѵοανρι]+$/iu;

/** The letters in it that are not what they look like, each once; none in words that are all of one script. */
export function lookalikesIn(name: string): string[] {
  const words = name.split(/[^\p{L}\p{M}]+/u).filter((word) => LATIN.test(word) || TWINS.test(word));
  return [...new Set(words.join(""))].filter((letter) => OTHERS.test(letter));
}
