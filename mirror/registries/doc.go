// Package registries tests the program with registries of all kinds: those that a test can start, and profiles of others.
//
// The main types are in its tests: a registry is a line of a table, a real one (registrytest.Registries) or one with the
// traits of a profile (profiletest.Profiles); a step is a column, what people do with a mirror, one after another. For each
// pair, the table has the exit status and the words that the program has to end with. After each step, a client that
// shares no code with Gantry reads what is there.
//
// make test runs the steps with one real registry, and with a few profiles. make hardening runs all, and writes
// bin/registries.md. docs/reference/registries.md is the table as documentation.
//
// The package is only tests. Start with TestRegistries in registries_test.go.
package registries
