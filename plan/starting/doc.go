// Package starting makes a first configuration from five answers.
//
// The three main types:
//
//   - Options are the answers: a version, a channel of releases, catalogs, operators, images.
//   - Question is one of the five: what it asks, its default, and what an answer sets.
//   - Result is the configuration, with comments and the name of the JSON Schema that editors check it with.
//
// Catalogs are read, so that the names of packages and channels are known to exist. What is written plans
// without a note: dependencies are selected, and nothing is guessed.
//
// What the format allows is in package imageset; package config makes drafts from what clusters run. This
// package writes no files and asks no questions: that is the work of its caller.
//
// Start with Configuration in starting.go.
package starting
