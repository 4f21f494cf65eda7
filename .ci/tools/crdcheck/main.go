// Command crdcheck checks whether a Kubernetes API server would accept manifests.
//
//	crdcheck -crds DIR FILE...
//
// DIR contains CustomResourceDefinitions (*.yaml). Every document of every FILE is checked like a
// new object of its kind in the API server: unknown fields are reported instead of pruned, defaults
// are set, and then metadata, the structural schema, list types and the CEL rules
// (x-kubernetes-validations) are checked, with the API server's own code
// (k8s.io/apiextensions-apiserver). A plain JSON Schema check would not evaluate the CEL rules.
//
// For each valid document, "ok FILE kind/name" is printed to standard output; errors are printed to
// standard error. The exit status is 1 if there was an error, and 2 if the command line is invalid.
//
// It is a separate module because that code needs a hundred modules that Gantry should not depend
// on.
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

// run is main with its dependencies as parameters. It returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	say := func(w io.Writer, format string, args ...any) {
		_, _ = fmt.Fprintf(w, format+"\n", args...) // a write error cannot be reported
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
