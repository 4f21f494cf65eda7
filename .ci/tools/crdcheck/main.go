// Command crdcheck tells whether a Kubernetes API server would take manifests.
//
//	crdcheck -crds DIR FILE...
//
// DIR holds CustomResourceDefinitions (*.yaml). Every document of every FILE is
// put through what the API server does with a new object of that kind: fields
// that the schema does not know are reported instead of pruned, defaults are
// set, and then metadata, the structural schema, list types and the CEL rules
// (x-kubernetes-validations) are checked, by the API server's own code
// (k8s.io/apiextensions-apiserver). A plain JSON Schema check would not see the
// CEL rules.
//
// For each document that passes, "ok FILE kind/name" goes to standard output;
// faults go to standard error. The exit status is 1 if there was one, 2 if
// the command line is wrong.
//
// It is a module of its own because that code brings a hundred modules with it
// that have no place in Gantry.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with its surroundings passed in. It returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	say := func(w io.Writer, format string, args ...any) {
		_, _ = fmt.Fprintf(w, format+"\n", args...) // there is nobody to tell
	}
	flags := flag.NewFlagSet("crdcheck", flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := flags.String("crds", "", "`folder` of CustomResourceDefinitions")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *dir == "" || flags.NArg() == 0 {
		say(stderr, "usage: crdcheck -crds DIR FILE...")
		return 2
	}
	known, err := readCRDs(*dir)
	if err != nil {
		say(stderr, "crdcheck: %v", err)
		return 1
	}
	status := 0
	for _, name := range flags.Args() {
		passed, faults := known.checkFile(ctx, name)
		for _, object := range passed {
			say(stdout, "ok %s %s", name, object)
		}
		for _, fault := range faults {
			say(stderr, "%s: %v", name, fault)
			status = 1
		}
	}
	return status
}
