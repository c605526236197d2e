import { expect, test } from "bun:test"
import { ConfirmKeys, CreateKey } from "../src/Keys.ts"
import { refusalsOf } from "./refusals.ts"

test("a new key takes a role or actions, and at most one time at which it ends", () => {
  const label = "app"
  expect(refusalsOf(CreateKey, { label, role: "viewer" })).toEqual([])
  expect(refusalsOf(CreateKey, { label })).toEqual([
    "/role is required: give exactly one of role and actions",
  ])
  expect(refusalsOf(CreateKey, { label, role: "viewer", actions: ["timers.read"] })).toEqual([
    "/actions cannot be given together with role: remove one of them",
  ])
  const ends = { expiresAt: "2030-01-01T00:00:00Z", expiresIn: "30d" }
  expect(refusalsOf(CreateKey, { label, role: "viewer", ...ends })).toEqual([
    "/expiresIn cannot be given together with expiresAt: remove one of them",
  ])
  expect(refusalsOf(CreateKey, "app")).toEqual([" must be a JSON object"])
})

test("a confirmation names one key or all", () => {
  const id = "7sKq20XbnR"
  expect([refusalsOf(ConfirmKeys, { id }), refusalsOf(ConfirmKeys, { all: true })]).toEqual([[], []])
  expect(refusalsOf(ConfirmKeys, {})).toEqual(["/id is required: give exactly one of id and all"])
  expect(refusalsOf(ConfirmKeys, { id, all: true })).toEqual([
    "/all cannot be given together with id: remove one of them",
  ])
  expect(refusalsOf(ConfirmKeys, [])).toEqual([" must be a JSON object"])
})
