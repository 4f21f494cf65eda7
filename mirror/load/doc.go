// Package load tests the program with much of everything: many images, many faults, a slow and lossy network, and many
// clients.
//
// The main types are in its tests: a source serves any number of images without storing them; a program is the built
// program with a folder of its own; a run is one command with its time and peak memory.
//
// make test runs each test with little, and make test-long with more. make load runs them in full, which takes half an
// hour, and writes a report to bin/load.md: 50,000 images through every workflow, 100 runs with faults in 5 % of all
// requests, a network with round trips of 200 ms that loses 1 % of the packets, and 200 clients of gantry archive serve for
// ten minutes.
//
// The package is only tests. Start with many_test.go.
package load
