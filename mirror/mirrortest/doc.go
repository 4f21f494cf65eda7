// Package mirrortest is what the tests of rooms share: a source registry with the sample in it, a mirror, and a folder
// with a workspace. The registries are real.
//
// The main type is Site. Its methods write configurations, and run verbs that must succeed before the verb that a
// test is about: Mirrored, Exported, Imported. A test calls its own verb itself, and compares the values that it
// returns.
//
// Only tests import this package. Start with New in site.go.
package mirrortest
