/** Arguments held against the schema that a page declared. Browsers do not enforce it. */

import type { Json } from "./types";

type Schema = { readonly [keyword: string]: Json };

const MOST_PROBLEMS = 5;

/** What is wrong, in words that a model can act upon; empty where nothing is. */
export function problemsOf(value: Json | undefined, schema: Json, path = "arguments"): string[] {
  if (schema === true || schema === null || typeof schema !== "object" || Array.isArray(schema))
    return schema === false ? [`${path} may not be given`] : [];
  const problems: string[] = [];
  for (const check of CHECKS) {
    problems.push(...check(value as Json, schema, path));
    if (problems.length >= MOST_PROBLEMS) break;
  }
  return problems.slice(0, MOST_PROBLEMS);
}

type Check = (value: Json, schema: Schema, path: string) => string[];

const CHECKS: readonly Check[] = [ofType, ofChoice, ofBounds, ofPattern, ofItems, ofObject, ofCombination];

function ofType(value: Json, { type }: Schema, path: string): string[] {
  if (type === undefined) return [];
  const types = Array.isArray(type) ? type : [type];
  if (types.some((each) => isOf(value, String(each)))) return [];
  return [`${path} must be ${types.join(" or ")}, not ${kindOf(value)}`];
}

function ofChoice(value: Json, schema: Schema, path: string): string[] {
  const choices = Array.isArray(schema.enum)
    ? schema.enum
    : "const" in schema
      ? [schema.const as Json]
      : null;
  if (!choices || choices.some((choice) => isEqual(choice, value))) return [];
  return [
    `${path} must be one of ${choices
      .slice(0, 20)
      .map((choice) => JSON.stringify(choice))
      .join(", ")}`,
  ];
}

/** What each bound is held against, whether it holds, and what is said where it does not. */
const BOUNDS: readonly [
  string,
  (value: Json) => number | undefined,
  (size: number, bound: number) => boolean,
  string,
][] = [
  ["minimum", numberOf, (size, bound) => size >= bound, "must be at least #"],
  ["maximum", numberOf, (size, bound) => size <= bound, "must be at most #"],
  ["exclusiveMinimum", numberOf, (size, bound) => size > bound, "must be more than #"],
  ["exclusiveMaximum", numberOf, (size, bound) => size < bound, "must be less than #"],
  ["multipleOf", numberOf, isMultiple, "must be a multiple of #"],
  ["minLength", lengthOf, (size, bound) => size >= bound, "must have at least # characters"],
  ["maxLength", lengthOf, (size, bound) => size <= bound, "must have at most # characters"],
  ["minItems", countOf, (size, bound) => size >= bound, "must have at least # items"],
  ["maxItems", countOf, (size, bound) => size <= bound, "must have at most # items"],
];

function ofBounds(value: Json, schema: Schema, path: string): string[] {
  const problems: string[] = [];
  for (const [keyword, measure, holds, said] of BOUNDS) {
    const [size, bound] = [measure(value), schema[keyword]];
    if (size !== undefined && typeof bound === "number" && !holds(size, bound))
      problems.push(`${path} ${said.replace("#", String(bound))}`);
  }
  return problems;
}

function ofPattern(value: Json, { pattern }: Schema, path: string): string[] {
  if (typeof value !== "string" || typeof pattern !== "string" || matches(value, pattern)) return [];
  return [`${path} must match ${pattern.slice(0, 100)}`];
}

function ofItems(value: Json, { items, uniqueItems }: Schema, path: string): string[] {
  if (!Array.isArray(value)) return [];
  const problems: string[] = [];
  if (
    uniqueItems === true &&
    value.some((each, at) => value.slice(0, at).some((other) => isEqual(each, other)))
  )
    problems.push(`${path} must not have the same item twice`);
  if (items !== undefined)
    for (const [at, item] of value.entries()) problems.push(...problemsOf(item, items, `${path}[${at}]`));
  return problems;
}

function ofObject(value: Json, schema: Schema, path: string): string[] {
  if (kindOf(value) !== "object") return [];
  const members = value as { [name: string]: Json };
  const properties = (kindOf(schema.properties) === "object" ? schema.properties : {}) as Schema;
  const problems: string[] = [];
  for (const name of Array.isArray(schema.required) ? schema.required : [])
    if (!Object.hasOwn(members, String(name))) problems.push(`${path} must have ${JSON.stringify(name)}`);
  for (const [name, member] of Object.entries(members)) {
    const inside = Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties;
    if (inside === false) problems.push(`${path} must not have ${JSON.stringify(name)}`);
    else if (inside !== undefined) problems.push(...problemsOf(member, inside, `${path}.${name}`));
  }
  return problems;
}

function ofCombination(value: Json, schema: Schema, path: string): string[] {
  const holds = (each: Json): boolean => problemsOf(value, each, path).length === 0;
  const { allOf, anyOf, oneOf, not } = schema;
  if (Array.isArray(allOf)) {
    const problems = allOf.flatMap((each) => problemsOf(value, each, path));
    if (problems.length > 0) return problems;
  }
  if (Array.isArray(anyOf) && !anyOf.some(holds)) return [`${path} fits none of the forms that are allowed`];
  if (Array.isArray(oneOf) && oneOf.filter(holds).length !== 1)
    return [`${path} must fit exactly one of the forms that are allowed`];
  return not !== undefined && holds(not) ? [`${path} has a form that is not allowed`] : [];
}

function isOf(value: Json, type: string): boolean {
  if (type === "integer") return typeof value === "number" && Number.isInteger(value);
  return kindOf(value) === type;
}

function kindOf(value: Json | undefined): string {
  if (value === undefined) return "missing";
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

function isEqual(one: Json, other: Json): boolean {
  if (one === other) return true;
  if (kindOf(one) !== kindOf(other) || one === null || typeof one !== "object") return false;
  const [a, b] = [Object.entries(one), other as { [name: string]: Json }];
  return (
    a.length === Object.keys(b).length &&
    a.every(([name, each]) => Object.hasOwn(b, name) && isEqual(each, b[name] as Json))
  );
}

function numberOf(value: Json): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function lengthOf(value: Json): number | undefined {
  return typeof value === "string" ? [...value].length : undefined;
}

function countOf(value: Json): number | undefined {
  return Array.isArray(value) ? value.length : undefined;
}

/** 0.3 is three times 0.1 for everybody but a computer. */
function isMultiple(value: number, of: number): boolean {
  return of <= 0 || Math.abs(value / of - Math.round(value / of)) < 1e-9;
}

function matches(text: string, pattern: string): boolean {
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    // A pattern that no browser understands binds nobody.
    return true;
  }
}
