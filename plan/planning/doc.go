// Package planning makes plans: it connects the builder in package build with registries, update services, charts and
// files, applies signature policies and gates, and keeps the plan in the workspace.
//
// The three main types:
//
//   - Options say for which configuration, with which trust and gates, and compared with which destination.
//   - Make plans and compares; Result has the plan, what would be copied, and what would be replaced.
//   - MakeFor plans within a session that is open, for a run.
//
// The same configuration and the same sources give the same plan, byte by byte. A plan that is read from a
// file needs the content that Gantry built for it: LoadPlan builds that again.
//
// This package copies nothing, and it has no rule of its own about catalogs: these are in pkg/plan/build and
// catalog/filter.
//
// Start with Make in plan.go, then read MakeFor.
package planning
