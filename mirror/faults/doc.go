// Package faults tests the program with faults: 29 of them, in 8 workflows, and after each six invariants.
//
// The main types are in its tests: a fault is a line of a table, what a registry, a disk or the machine does wrong; a
// workflow is another one, the commands that people run one after another; a cell is a fault in a workflow. Each cell runs the
// program as a process, with registries that are real, first with the fault and then without it, and compares what is there
// with what a run without faults made.
//
// make test runs a cell of some faults, and make test-long one of each. make hardening runs all of them, and writes the
// matrix to bin/faults.md.
//
// A crash ends a workflow at a numbered point, with a kill or a loss of power (TestCrashes; bin/crashes.md). On Linux, seccomp
// stops the program at each system call that changes a file or sends something, so that a watcher can number it, kill the
// program before it, and know what was synced.
//
// The package is only tests. Start with TestMatrix in matrix_test.go.
package faults
