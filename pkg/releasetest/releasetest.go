// Package releasetest makes platform releases, and everything that their vendor
// has about them, for tests and the demonstration.
//
// A Universe says what there is: releases with their components and flaws,
// channels, risks and blocked updates. New makes a World of it: release images and
// component images, OpenPGP and sigstore signatures, update graphs, graph data.
// Bytes depend on the Universe alone, so that digests are the same in each run.
//
//	Universe -> World -> Push         -> a registry, that of registrytest or a real one
//	                  -> ServeHTTP    -> update service, graph data, signature store
//	                  -> Payload      -> what tests expect
//
// The World is a http.Handler: registrytest.Serve puts it behind the log, the
// scripted faults and the TLS of registries. Small is a Universe of six versions
// for most tests.
//
// Graphs are said here by edges and by exact versions. Graph data says the same
// in the vendor's form, with regular expressions over what release metadata has,
// so that code which derives a graph from those can be held against the answers.
//
// The package shares no more with what it tests than the names of pkg/release, and
// the program that is shipped never links it; a test in cmd/gantry holds that.
package releasetest
