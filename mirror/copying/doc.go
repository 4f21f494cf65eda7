// Package copying is the phase of a run that copies: it drives the engine in package mirror for one plan and one
// destination, shows it to the observer, and counts what was transferred.
//
// The three main types:
//
//   - Job is the copy of one plan: what is copied first, and what is published after it.
//   - Options are the ones of one copy: when it stops, when it may copy, and who hears what was missing.
//   - Transfer says how much was copied, how fast, and which side was slower.
//
// Uploads that an earlier run left open are cancelled before and after a copy. Outside of its windows, a
// copy waits: transfers that run are completed, and nothing new begins.
//
// This package does not decide what is copied. It knows plans, and neither configurations nor clusters.
//
// Start with Run in job.go.
package copying
