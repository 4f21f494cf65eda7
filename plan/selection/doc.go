// Package selection reads what a plan is made for: the configuration, the operators that clusters have installed, and the
// options that change both.
//
// The three main types:
//
//   - Selection are the options: the file of the configuration, installed operators, dependencies, ages.
//   - Selected is what was read: the parsed configuration and the clusters.
//   - ConfigProblem is a warning about a configuration, with its file and line.
//
// Package imageset has the format of configurations, catalog/installed the one of what clusters run. This
// package joins them: names of image sets, versions that block each other, and the format of manifests at
// the destination.
//
// It reads files of the user, and never a registry.
//
// Start with Load in selection.go.
package selection
