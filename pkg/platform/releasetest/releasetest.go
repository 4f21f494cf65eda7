// Package releasetest makes platform releases and the services of their vendor, for tests and the
// demonstration.
//
// A Definition describes releases with their components and flaws, channels, risks and blocked
// updates. New makes a Platform from it: release images and component images, OpenPGP and sigstore
// signatures, update graphs and graph data. The bytes depend only on the Definition, so digests are
// the same in every run.
//
//	Definition -> Platform -> Push      -> a registry: one of registrytest or a real one
//	                       -> ServeHTTP -> update service, graph data, signature store
//	                       -> Payload   -> expected values for tests
//
// The Platform is an http.Handler. registrytest.Serve adds the log, the scripted faults and the TLS of
// test registries to it. Small is a Definition of six versions for most tests.
//
// The Platform derives update graphs directly from the edges and versions of the Definition. Graph data
// contains the same updates in the vendor's form, with regular expressions over release metadata.
// Tests can therefore compare code that derives a graph from graph data with the graphs of the
// Platform.
//
// The package shares only the names of pkg/release with the code that it tests. The released
// program never links it; a test in cmd/gantry checks that.
package releasetest
